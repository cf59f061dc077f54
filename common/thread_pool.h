#ifndef CAIRN_COMMON_THREAD_POOL_H_
#define CAIRN_COMMON_THREAD_POOL_H_

#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "common/bounded_queue.h"

namespace cairn {

// A fixed number of threads that start tasks in the order of their submission; with one thread,
// tasks run strictly one after another. The destructor waits until all submitted tasks have run, so
// everything that tasks refer to must outlive the pool. Thread-safe.
class ThreadPool {
 public:
  using Task = absl::AnyInvocable<void()>;
  // kBackground: the threads run with a lower scheduling priority (nice), which matters only if
  // cores are scarce.
  enum class Priority { kNormal, kBackground };

  // Requires threads > 0 and queue_capacity > 0. `name` is what `top -H` shows, truncated to 15
  // characters. Throws std::system_error if a thread cannot be created.
  ThreadPool(int threads, const std::string& name, size_t queue_capacity,
             Priority priority = Priority::kNormal);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Blocks while the queue is full. A task must not submit to its own pool, because it may then
  // wait for itself; use TrySubmit.
  void Submit(Task task);

  // Does not block. Returns false and leaves `task` unchanged if the queue is full.
  bool TrySubmit(Task&& task);

 private:
  void Join();

  BoundedQueue<Task> tasks_;
  std::vector<std::thread> threads_;
};

}  // namespace cairn

#endif  // CAIRN_COMMON_THREAD_POOL_H_
