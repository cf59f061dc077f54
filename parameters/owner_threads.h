#ifndef CAIRN_PARAMETERS_OWNER_THREADS_H_
#define CAIRN_PARAMETERS_OWNER_THREADS_H_

#include <memory>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "common/thread_pool.h"

namespace cairn::parameters {

// The threads that own blocks. Tasks of a thread run in order, so the blocks that it owns need no
// locks. The destructor runs all submitted tasks. Thread-safe.
class OwnerThreads {
 public:
  // Requires threads > 0 and queue_capacity > 0; the capacity is that of each thread.
  OwnerThreads(int threads, size_t queue_capacity);

  int count() const { return static_cast<int>(threads_.size()); }

  // Does not block. Returns false and leaves `task` unchanged if the thread's queue is full.
  bool TryRun(int thread, absl::AnyInvocable<void()>&& task);

  // Runs `task` once on each thread and waits until all have run. Must not be called on one of
  // these threads.
  void RunOnAll(absl::FunctionRef<void(int thread)> task);

 private:
  std::vector<std::unique_ptr<ThreadPool>> threads_;
};

}  // namespace cairn::parameters

#endif  // CAIRN_PARAMETERS_OWNER_THREADS_H_
