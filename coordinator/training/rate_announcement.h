#ifndef CAIRN_COORDINATOR_TRAINING_RATE_ANNOUNCEMENT_H_
#define CAIRN_COORDINATOR_TRAINING_RATE_ANNOUNCEMENT_H_

#include <cstdint>
#include <vector>

#include "coordinator/outbox.h"
#include "proto/coordinator.pb.h"
#include "proto/job.pb.h"
#include "proto/journal.pb.h"

namespace cairn::coordinator {

// Which ps know all changes of the learning rate: before the last of them does, no batch of the
// newest change may be leased. A ps that restores a job gets them with it; one that has the job is
// told, and answers. A pure machine, not thread-safe.
class RateAnnouncement {
 public:
  // Both outlive it. In a new generation every ps knows what `run` has.
  RateAnnouncement(const proto::JobPlan* plan, const proto::RunRecord* run);

  // An earlier process of the coordinator may have died before it told anybody.
  void ForgetWhoKnows() { known_.assign(known_.size(), 0); }
  // Tells every ps that lacks a change and was not told yet.
  void Announce(Outbox* outbox);
  // The same process on a new stream: what it was told may be lost.
  void PsReturned(uint32_t ps) { told_[ps] = 0; }
  void Reply(uint32_t ps, const proto::RatesReply& reply);
  bool complete() const;

 private:
  const proto::JobPlan& plan_;
  const proto::RunRecord& run_;
  // By ps: how many changes it was told of, and has confirmed.
  std::vector<int> told_;
  std::vector<int> known_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_RATE_ANNOUNCEMENT_H_
