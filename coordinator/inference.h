#ifndef CAIRN_COORDINATOR_INFERENCE_H_
#define CAIRN_COORDINATOR_INFERENCE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "coordinator/outbox.h"
#include "coordinator/task.h"
#include "coordinator/training/batch_leases.h"
#include "proto/coordinator.pb.h"

namespace cairn::coordinator {

// The client of an inference. Does not block.
class InferenceSink {
 public:
  virtual ~InferenceSink() = default;
  virtual bool alive() const = 0;
  // Whether the chunk before is written, so that the client can take another one.
  virtual bool ready() const = 0;
  // Requires ready().
  virtual void Send(proto::InferenceChunk chunk) = 0;
  // Call once; nothing is sent after it.
  virtual void End(const absl::Status& status) = 0;
};

// Lets the workers run a trained model on data (Coordinator.Infer). Batches are leased to workers;
// the first result of a batch counts. The client gets the results in order, as fast as it takes
// them. Batches are leased only so far ahead of the client that at most about 64 MiB of outputs are
// on their way. All results are of the same data: a worker whose data files differ from those of
// the first one is left out. Nothing is journaled. Pure state machine, not thread-safe.
class Inference {
 public:
  // `id` must never be used again.
  Inference(uint64_t id, proto::InferenceRequest request, std::shared_ptr<InferenceSink> sink);

  // The worker is there: it loads the values and the data. It has failed if it was lost repeatedly
  // before its first result.
  void AddWorker(TaskId worker, Outbox* outbox);
  // The worker is gone. Its batches are leased to others.
  void RemoveWorker(TaskId worker);
  // What the worker does, and why it gets no further; empty: it does. While it is stuck it gets no
  // batches, its batches are leased to others, and it counts as failed.
  void SetActivity(TaskId worker, proto::Activity::Phase phase, const std::string& stuck);
  // Ignores the reports of other inferences.
  void OnReport(TaskId worker, const proto::InferenceReport& report, absl::Duration now);
  // Leases batches, and sends the client what is complete. Call it after every event and on ticks.
  void Advance(absl::Duration now, Outbox* outbox);
  // The client has all it will get, or is gone.
  bool over() const { return over_; }
  // Tells the workers that it is over.
  void TellWorkers(Outbox* outbox) const;

  uint64_t id() const { return id_; }
  InferenceSink* sink() const { return sink_.get(); }

 private:
  struct Worker {
    bool ready = false;
    bool has_result = false;
    std::string error;    // Why it computes nothing.
    int64_t failure = 0;  // The number of its error, in the order of time.
    int tries = 0;        // Transient errors without a batch in between.
    // When it is tried again after an error.
    absl::Duration retry_at = absl::InfiniteDuration();
    proto::Activity::Phase phase = proto::Activity::IDLE;
    std::string stuck;  // As SetActivity's.

    bool loads() const { return !ready && error.empty(); }
    bool computes() const { return ready && error.empty() && stuck.empty(); }
    bool has_failed() const {
      return error.empty() ? !stuck.empty() : retry_at == absl::InfiniteDuration();
    }
  };

  void Start(TaskId id, Outbox* outbox) const;
  void OnReady(TaskId id, const proto::InferenceReady& ready, absl::Duration now);
  void OnBatch(TaskId id, const proto::InferredBatch& batch, absl::Duration now);
  absl::Status CheckBatch(const proto::InferredBatch& batch) const;
  // The worker is left out.
  void Fail(TaskId id, const std::string& error);
  // The worker is left out for a while, which doubles with each error.
  void FailForNow(TaskId id, const std::string& error, absl::Duration now);
  void SetError(TaskId id, const std::string& error);
  // Starts it again on workers whose transient errors may have passed.
  void Retry(absl::Duration now, Outbox* outbox);
  void Grant(absl::Duration now, Outbox* outbox);
  // Whether all workers have failed or are stuck, and there is one.
  bool AllFailed() const;
  // The error that came first. If all workers are stuck: FailedPrecondition. Requires
  // AllFailed.
  absl::Status FirstError() const;
  // What the client waits for, or empty.
  std::string WaitingFor(absl::Duration now);
  // The notes that the client has not got.
  std::vector<std::string> TakeNotes();
  bool complete() const { return data_.has_value() && next_ == batches_; }
  void SendResults(absl::Duration now);
  void End(const absl::Status& status);

  const uint64_t id_;
  const proto::InferenceRequest request_;
  const std::shared_ptr<InferenceSink> sink_;
  std::map<TaskId, Worker> workers_;
  // What the first worker found that loaded the data. Workers that find something else are left
  // out.
  std::optional<proto::InferenceReady> data_;
  std::string data_from_;  // That worker's name.
  uint64_t data_fingerprint_ = 0;
  int64_t batches_ = 0;
  int64_t window_ = 0;  // Batches.
  std::optional<BatchLeases> leases_;
  std::map<int64_t, proto::InferredBatch> results_;  // Complete and not sent.
  int64_t next_;                                     // The first batch that is not sent.
  int64_t failures_ = 0;
  std::map<TaskId, int> losses_;  // Of workers without a result.
  // Since then workers load or compute, and none has got ready or done a batch.
  std::optional<absl::Duration> waiting_since_;
  std::string waiting_for_;  // As the client was told last.
  std::vector<std::string> notes_;
  // Notes about workers that are left out. The client gets them when another worker computes: if
  // there is none, the inference ends with the first error.
  std::vector<std::string> left_out_;
  bool over_ = false;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_INFERENCE_H_
