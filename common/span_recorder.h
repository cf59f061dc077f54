#ifndef CAIRN_COMMON_SPAN_RECORDER_H_
#define CAIRN_COMMON_SPAN_RECORDER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cairn {

// Records where one thread spends its time, as spans that are named by numbers. All memory is
// reserved in the constructor: Add does not allocate and takes no lock. Not thread-safe.
//
//   SpanRecorder recorder(/*spans_max=*/1000);
//   { ScopedSpan span(&recorder, kForward); Forward(); }
class SpanRecorder {
 public:
  struct Span {
    uint32_t name = 0;
    int64_t batch = -1;
    // On the monotonic clock (Now).
    int64_t begin_nanoseconds = 0;
    int64_t nanoseconds = 0;
  };

  // Spans beyond `spans_max` are dropped and counted in dropped().
  explicit SpanRecorder(size_t spans_max) { spans_.reserve(spans_max); }

  static int64_t Now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  // The Unix time at which Now() was 0.
  static int64_t UnixNanosecondsAtZero() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
               .count() -
           Now();
  }

  // Sets the batch of the spans that are added from now on.
  void set_batch(int64_t batch) { batch_ = batch; }

  void Add(uint32_t name, int64_t begin_nanoseconds, int64_t end_nanoseconds) {
    if (spans_.size() == spans_.capacity()) {
      ++dropped_;
      return;
    }
    spans_.push_back({name, batch_, begin_nanoseconds, end_nanoseconds - begin_nanoseconds});
  }

  const std::vector<Span>& spans() const { return spans_; }
  int64_t dropped() const { return dropped_; }

 private:
  std::vector<Span> spans_;
  int64_t batch_ = -1;
  int64_t dropped_ = 0;
};

// Adds a span that lasts for the enclosing scope. With a null recorder it does not read the clock.
class ScopedSpan {
 public:
  ScopedSpan(SpanRecorder* recorder, uint32_t name)
      : recorder_(recorder), name_(name), begin_(recorder == nullptr ? 0 : SpanRecorder::Now()) {}
  ~ScopedSpan() {
    if (recorder_ != nullptr) recorder_->Add(name_, begin_, SpanRecorder::Now());
  }
  ScopedSpan(const ScopedSpan&) = delete;
  ScopedSpan& operator=(const ScopedSpan&) = delete;

 private:
  SpanRecorder* const recorder_;
  const uint32_t name_;
  const int64_t begin_;
};

}  // namespace cairn

#endif  // CAIRN_COMMON_SPAN_RECORDER_H_
