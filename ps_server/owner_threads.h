#ifndef CAIRN_PS_SERVER_OWNER_THREADS_H_
#define CAIRN_PS_SERVER_OWNER_THREADS_H_

#include <memory>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "common/thread_pool.h"

namespace cairn::ps {

// The threads that own blocks. What is given to one of them runs in order, so a block that belongs
// to it needs no lock. Thread-safe. The destructor runs what was given before.
class OwnerThreads {
 public:
  // Both at least 1. `queue_capacity` is each thread's.
  OwnerThreads(int threads, size_t queue_capacity);

  int count() const { return static_cast<int>(threads_.size()); }

  // Does not block. False, leaving `task` as it was: the thread has too much to do already.
  bool TryRun(int thread, absl::AnyInvocable<void()>&& task);

  // Runs `task` once on each thread and waits for all. Not on one of these threads.
  void RunOnAll(absl::FunctionRef<void(int thread)> task);

 private:
  std::vector<std::unique_ptr<ThreadPool>> threads_;
};

}  // namespace cairn::ps

#endif  // CAIRN_PS_SERVER_OWNER_THREADS_H_
