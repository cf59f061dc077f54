#ifndef CAIRN_WORKER_DATA_READER_COUNT_H_
#define CAIRN_WORKER_DATA_READER_COUNT_H_

#include <atomic>
#include <cstdint>

namespace cairn::worker {

// How many threads assemble a batch: as few as let the step wait for none, because the others take
// cores from it, and because to wake one costs more than a small piece of a batch. Learns from the
// batches before it; at first all threads do. Thread-safe.
class ReaderCount {
 public:
  // At most `most`, which is 1 or more.
  explicit ReaderCount(int most) : most_(most) {}

  // The number for the next batch, from 1 on.
  int threads() const;

  // A batch was assembled in this time, summed over the threads; with their waits for the disk.
  void AddBatch(int64_t nanoseconds);
  // The caller has computed for this time on a batch.
  void AddStep(int64_t nanoseconds);

 private:
  // Averages, in which the last one counts a quarter.
  class Average {
   public:
    void Add(int64_t nanoseconds);
    int64_t value() const { return value_; }

   private:
    std::atomic<int64_t> value_ = -1;  // Below 0: of nothing.
  };

  const int most_;
  Average batch_;
  Average step_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_READER_COUNT_H_
