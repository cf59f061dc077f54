#ifndef CAIRN_COMMON_THREAD_POOL_H_
#define CAIRN_COMMON_THREAD_POOL_H_

#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "common/bounded_queue.h"

namespace cairn {

// A fixed number of threads that run tasks in the order of their submission (with one thread:
// strictly one after the other). Thread-safe. The destructor waits until all submitted tasks have
// run; whatever tasks refer to must outlive the pool.
class ThreadPool {
 public:
  using Task = absl::AnyInvocable<void()>;
  // kBackground: where cores are short, threads that are not come first. What is done there takes
  // longer then; with cores to spare it is as fast as ever.
  enum class Priority { kNormal, kBackground };

  // `threads` and `queue_capacity` are at least 1. `name` is what `top -H` shows: the first 15
  // characters of it count. Throws std::system_error if the system gives fewer threads.
  ThreadPool(int threads, const std::string& name, size_t queue_capacity,
             Priority priority = Priority::kNormal);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Blocks while the queue is full, so a task must not submit to its own pool: it may wait for
  // itself. Use TrySubmit there.
  void Submit(Task task);

  // Does not block. Returns false, leaving `task` as it was, if the queue is full.
  bool TrySubmit(Task&& task);

 private:
  void Join();

  BoundedQueue<Task> tasks_;
  std::vector<std::thread> threads_;
};

}  // namespace cairn

#endif  // CAIRN_COMMON_THREAD_POOL_H_
