#ifndef CAIRN_COORDINATOR_TRAINING_LEARNING_RATE_BROADCAST_H_
#define CAIRN_COORDINATOR_TRAINING_LEARNING_RATE_BROADCAST_H_

#include <cstdint>
#include <vector>

#include "coordinator/outbox.h"
#include "proto/coordinator.pb.h"
#include "proto/job.pb.h"
#include "proto/journal.pb.h"

namespace cairn::coordinator {

// Tracks which ps know all changes of the learning rate. Batches of the newest change are leased
// only when every ps has confirmed it. A ps that restores a job gets the changes with it; a ps that
// already has the job is sent them and replies. Pure state machine, not thread-safe.
class LearningRateBroadcast {
 public:
  // Both must outlive it. In a new generation every ps knows the rates in `run`.
  LearningRateBroadcast(const proto::JobPlan* plan, const proto::RunRecord* run);

  // After a restart of the coordinator: the earlier process may have died before it told any ps.
  void ResetConfirmations() { known_.assign(known_.size(), 0); }
  // Sends the rates to every ps that lacks a change and was not sent it yet.
  void Announce(Outbox* outbox);
  // The same ps process has a new stream: what was sent on the old one may be lost.
  void PsReconnected(uint32_t ps) { told_[ps] = 0; }
  void Reply(uint32_t ps, const proto::RatesReply& reply);
  bool complete() const;

 private:
  // The size of storage::RatesOf.
  int Changes() const;

  const proto::JobPlan& plan_;
  const proto::RunRecord& run_;
  const std::vector<uint32_t> members_;  // The ps that take part.
  // By ps: how many changes it was sent, and how many it has confirmed.
  std::vector<int> told_;
  std::vector<int> known_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_LEARNING_RATE_BROADCAST_H_
