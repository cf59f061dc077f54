#ifndef CAIRN_TESTS_BENCHMARKS_LEASING_WORKER_H_
#define CAIRN_TESTS_BENCHMARKS_LEASING_WORKER_H_

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "proto/coordinator.grpc.pb.h"
#include "worker/work_state.h"

namespace cairn::benchmarks {

// A worker that leases and reports batches like the real one (it uses the product's WorkState) but
// computes nothing: a batch is done at once, or after a fixed time. It has its own connection but
// no thread, so one process can run a thousand of them. Thread-safe.
class LeasingWorker final : public grpc::ClientBidiReactor<proto::TaskMessage, proto::Command> {
 public:
  // Starts to join. `examples`: the number of examples that it reports for the job's data.
  // `batches_per_second`: its speed; 0: batches take no time.
  LeasingWorker(const std::string& coordinator, int64_t examples, double batches_per_second);
  // Leaves.
  ~LeasingWorker() override;

  // Completes the batches that are due and sends the messages that are due. Call it some tens of
  // times per second.
  void Tick();

  bool joined();
  // Whether the stream has ended before this worker left.
  bool broken();

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

 private:
  void Join();
  void Handle(const proto::Command& command) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Work(absl::Duration now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Do(const worker::WorkItem& task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeMessages(absl::Duration now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether out_ must be written now. The caller writes it without the lock, because gRPC may call
  // back immediately.
  bool NextOut() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int64_t examples_;
  const double batches_per_second_;
  const RealClock clock_;
  std::unique_ptr<proto::Coordinator::Stub> stub_;
  grpc::ClientContext context_;
  proto::Command in_;
  proto::TaskMessage out_;

  Mutex mutex_;
  ConditionVariable changed_;
  worker::WorkState state_ ABSL_GUARDED_BY(mutex_);
  worker::JobKey key_ ABSL_GUARDED_BY(mutex_);
  std::deque<proto::TaskMessage> outbox_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool joined_ ABSL_GUARDED_BY(mutex_) = false;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Duration next_heartbeat_ ABSL_GUARDED_BY(mutex_);
  absl::Duration next_batch_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace cairn::benchmarks

#endif  // CAIRN_TESTS_BENCHMARKS_LEASING_WORKER_H_
