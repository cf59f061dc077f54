#ifndef CAIRN_COORDINATOR_INFERENCE_QUEUE_H_
#define CAIRN_COORDINATOR_INFERENCE_QUEUE_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "coordinator/inference.h"
#include "coordinator/membership.h"
#include "coordinator/outbox.h"
#include "coordinator/task.h"
#include "proto/coordinator.pb.h"

namespace cairn::coordinator {

// The inferences that clients have asked for. One at a time is computed, by all workers and
// evaluators, beside the job that trains. Pure state machine, not thread-safe.
class InferenceQueue {
 public:
  // `members` must outlive it. `term` is the coordinator's.
  InferenceQueue(const Membership* members, uint64_t term) : members_(*members), term_(term) {}

  // ResourceExhausted: too many are waiting.
  absl::Status Add(proto::InferenceRequest request, std::shared_ptr<InferenceSink> sink);
  void WorkerJoined(TaskId worker, Outbox* outbox);
  void WorkerGone(TaskId worker);
  void OnReport(TaskId worker, const proto::InferenceReport& report, absl::Duration now);
  // Call it after every event and on ticks.
  void Advance(absl::Duration now, Outbox* outbox);

 private:
  void StartFirst(Outbox* outbox);
  void NoteActivities(Inference* inference) const;

  const Membership& members_;
  const uint64_t term_;
  uint64_t count_ = 0;  // Of all so far.
  // The first one is computed.
  struct Entry {
    std::unique_ptr<Inference> inference;
    bool started = false;
    std::string place;  // As the client of a waiting one was told last.
  };
  std::deque<Entry> queue_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_INFERENCE_QUEUE_H_
