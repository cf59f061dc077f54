#include "common/thread_pool.h"

#include <pthread.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "common/check.h"

namespace cairn {
namespace {

// Linux rejects longer names instead of truncating them.
constexpr size_t kThreadNameLengthMax = 15;
constexpr int kBackgroundNiceness = 15;

// Applies to the calling thread: on Linux the nice value is per thread.
void SetPriority(ThreadPool::Priority priority) {
  if (priority == ThreadPool::Priority::kNormal) return;
  // Best effort: a failure only means a higher priority.
  [[maybe_unused]] const int niceness = nice(kBackgroundNiceness);
}

}  // namespace

ThreadPool::ThreadPool(int threads, const std::string& name, size_t queue_capacity,
                       Priority priority)
    : tasks_(queue_capacity) {
  CAIRN_CHECK(threads > 0);
  const std::string short_name = name.substr(0, kThreadNameLengthMax);
  try {
    for (int i = 0; i < threads; ++i) {
      threads_.emplace_back([this, priority] {
        SetPriority(priority);
        while (std::optional<Task> task = tasks_.Pop()) (*task)();
      });
      pthread_setname_np(threads_.back().native_handle(), short_name.c_str());
    }
  } catch (...) {
    Join();  // A constructor that throws runs no destructor, so join the threads started so far.
    throw;
  }
}

ThreadPool::~ThreadPool() { Join(); }

void ThreadPool::Join() {
  tasks_.Close();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::Submit(Task task) { CAIRN_CHECK(tasks_.Push(std::move(task))); }

bool ThreadPool::TrySubmit(Task&& task) { return tasks_.TryPush(std::move(task)); }

}  // namespace cairn
