#ifndef CAIRN_WORKER_STRATEGY_GRADIENT_PUSHER_H_
#define CAIRN_WORKER_STRATEGY_GRADIENT_PUSHER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "cluster/ps_client.h"
#include "common/mutex.h"
#include "proto/job.pb.h"
#include "proto/parameter_server.pb.h"
#include "worker/strategy/block_table.h"
#include "worker/strategy/strategy.h"

namespace cairn::worker {

// Sends gradients to the parameter servers while the backward pass still makes others, and sees to
// it that a batch is called settled only when every push of it was acknowledged. Steps overlap: the
// acknowledgements of one come while the next is computed, so gradients are copied into memory of
// the step's own. Belongs to one thread, but Wake.
class GradientPusher {
 public:
  struct Options {
    uint64_t job_id = 0;
    uint64_t generation = 0;
    cluster::PsClient::Group group = 0;  // This pusher's alone.
    // Acknowledgements bring the updated values along.
    bool want_values = false;
    Strategy::OnSettled on_settled;
  };

  // `client` and `table` must outlive it.
  GradientPusher(cluster::PsClient* client, const BlockTable* table, Options options);
  // Cancels what is under way; its batches are not settled.
  ~GradientPusher();
  GradientPusher(const GradientPusher&) = delete;
  GradientPusher& operator=(const GradientPusher&) = delete;

  // The step: Begin, Add for every variable that has a gradient, End. Blocks of variables without
  // one are pushed as settled. What is added is scale times the gradient.
  void Begin(int64_t batch, int64_t examples);
  void Add(int variable, absl::Span<const float> gradient, float scale = 1);
  void End(const proto::BatchRecord& record);

  // Waits until fewer than `limit` steps are under way; false if should_abandon said so. Returns
  // the error as status() does.
  absl::StatusOr<bool> WaitForRoom(int limit, absl::FunctionRef<bool()> should_abandon);
  void Wake();

  // Hands over values that have arrived since the last call, older ones first.
  using Install =
      absl::FunctionRef<void(uint32_t block, int64_t version, absl::Span<const float> values)>;
  void TakeFreshValues(Install install);

  // The first failure of a push; after it nothing more is settled.
  absl::Status status();

 private:
  // Memory of one step; used again when nobody uses it any more.
  struct Buffer {
    std::vector<float> gradients;
    std::vector<float> values;
    int uses = 0;  // By its step, its requests and values not yet taken. Guarded by mutex_.
  };
  struct StepState {
    proto::BatchRecord record;
    std::shared_ptr<Buffer> buffer;
    int open = 1;  // Requests under way, and the step itself until End. Guarded by mutex_.
  };
  struct Arrival {
    std::shared_ptr<Buffer> buffer;
    std::vector<uint32_t> blocks;
    std::vector<int64_t> versions;
  };
  using Pending = proto::PushHeader;

  std::shared_ptr<Buffer> TakeBuffer();
  void Release(const std::shared_ptr<Buffer>& buffer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Flush(int ps);
  void OnReply(const std::shared_ptr<StepState>& step, const std::vector<uint32_t>& blocks,
               absl::StatusOr<proto::PushReplyHeader> reply);
  // Returns whether that was the last part of the step and all went well.
  bool FinishPart(StepState* step) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  cluster::PsClient* const client_;
  const BlockTable* const table_;
  const Options options_;

  // Of the step that is open. One pending request for each ps.
  std::shared_ptr<StepState> step_;
  std::vector<Pending> pending_;
  std::vector<int64_t> pending_bytes_;
  std::vector<bool> added_;
  int64_t batch_ = 0;
  int64_t examples_ = 0;

  Mutex mutex_;
  ConditionVariable changed_;
  int calls_ ABSL_GUARDED_BY(mutex_) = 0;
  int steps_ ABSL_GUARDED_BY(mutex_) = 0;
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  std::vector<Arrival> arrivals_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Buffer>> free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_STRATEGY_GRADIENT_PUSHER_H_
