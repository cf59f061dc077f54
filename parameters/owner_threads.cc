#include "parameters/owner_threads.h"

#include <latch>
#include <utility>

#include "absl/strings/str_cat.h"

namespace cairn::parameters {

OwnerThreads::OwnerThreads(int threads, size_t queue_capacity) {
  for (int i = 0; i < threads; ++i) {
    threads_.push_back(std::make_unique<ThreadPool>(1, absl::StrCat("owner-", i), queue_capacity));
  }
}

bool OwnerThreads::TryRun(int thread, absl::AnyInvocable<void()>&& task) {
  return threads_[thread]->TrySubmit(std::move(task));
}

void OwnerThreads::RunOnAll(absl::FunctionRef<void(int thread)> task) {
  std::latch done(count());
  for (int thread = 0; thread < count(); ++thread) {
    threads_[thread]->Submit([&done, task, thread] {
      task(thread);
      done.count_down();
    });
  }
  done.wait();
}

}  // namespace cairn::parameters
