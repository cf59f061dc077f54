#ifndef CAIRN_COMMON_BOUNDED_QUEUE_H_
#define CAIRN_COMMON_BOUNDED_QUEUE_H_

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "common/check.h"
#include "common/mutex.h"

namespace cairn {

// A bounded first-in, first-out queue between threads. Push blocks while the queue is full, Pop
// while it is empty. Close ends both: nothing more can be pushed, and items already in the queue
// can still be popped.
//
//   BoundedQueue<Task> queue(/*capacity=*/16);
//   queue.Push(task);                                           // Producer.
//   while (std::optional<Task> task = queue.Pop()) Run(*task);  // Consumer, until Close.
//
// Thread-safe, with any number of producers and consumers.
template <typename T>
class BoundedQueue {
 public:
  // Requires capacity > 0.
  explicit BoundedQueue(size_t capacity) : capacity_(capacity) { CAIRN_CHECK(capacity > 0); }
  BoundedQueue(const BoundedQueue&) = delete;
  BoundedQueue& operator=(const BoundedQueue&) = delete;

  // Does not block. Returns false and leaves `item` unchanged if the queue is full or closed.
  bool TryPush(T&& item) {
    MutexLock lock(&mutex_);
    if (closed_ || items_.size() >= capacity_) return false;
    PushLocked(std::move(item));
    return true;
  }
  bool TryPush(const T& item) { return TryPush(T(item)); }

  // Does not block. For producers that limit themselves. Returns false if the queue is closed.
  bool PushBeyondCapacity(T item) {
    MutexLock lock(&mutex_);
    if (closed_) return false;
    PushLocked(std::move(item));
    return true;
  }

  // Blocks while the queue is full. Returns false if the queue is closed or becomes closed during
  // the wait.
  bool Push(T item) {
    MutexLock lock(&mutex_);
    while (!closed_ && items_.size() >= capacity_) not_full_.Wait(&mutex_);
    if (closed_) return false;
    PushLocked(std::move(item));
    return true;
  }

  // Blocks until an item is available, the queue is closed and empty, or `timeout` of real time has
  // passed. Returns nullopt in the last two cases. A zero timeout does not block.
  std::optional<T> Pop(absl::Duration timeout = absl::InfiniteDuration()) {
    MutexLock lock(&mutex_);
    if (!WaitForItem(timeout)) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    not_full_.NotifyOne();
    return item;
  }

  // Wakes all waiting producers and consumers. Idempotent.
  void Close() {
    MutexLock lock(&mutex_);
    closed_ = true;
    not_empty_.NotifyAll();
    not_full_.NotifyAll();
  }

  // True after Close, even if items are left.
  bool closed() const {
    MutexLock lock(&mutex_);
    return closed_;
  }

  size_t size() const {
    MutexLock lock(&mutex_);
    return items_.size();
  }

 private:
  void PushLocked(T&& item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    items_.push_back(std::move(item));
    not_empty_.NotifyOne();
  }

  bool WaitForItem(absl::Duration timeout) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (timeout == absl::InfiniteDuration()) {
      while (items_.empty() && !closed_) not_empty_.Wait(&mutex_);
      return !items_.empty();
    }
    const auto deadline = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(timeout);
    while (items_.empty() && !closed_) {
      const auto left = deadline - std::chrono::steady_clock::now();
      if (left.count() <= 0) break;
      not_empty_.WaitFor(&mutex_, left);
    }
    return !items_.empty();
  }

  const size_t capacity_;
  mutable Mutex mutex_;
  ConditionVariable not_empty_;
  ConditionVariable not_full_;
  std::deque<T> items_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace cairn

#endif  // CAIRN_COMMON_BOUNDED_QUEUE_H_
