#ifndef CAIRN_WORKER_DATA_BATCH_LOADER_H_
#define CAIRN_WORKER_DATA_BATCH_LOADER_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/mutex.h"
#include "common/thread_pool.h"
#include "worker/data/batch_sampler.h"
#include "worker/data/dataset.h"
#include "worker/data/files/data_storage.h"
#include "worker/data/reader_count.h"

namespace cairn::worker {

// The time that the threads which assembled a batch have spent, summed over them.
struct LoadTimes {
  int64_t reading = 0;   // In system calls on data files, in nanoseconds.
  int64_t decoding = 0;  // On the processor, for the rest.
};

// A batch in the layout of nn::Executor::Batch: examples are contiguous.
struct LoadedBatch {
  int64_t batch = -1;
  int64_t examples = 0;
  // One for each model input; elements of 4 bytes.
  std::vector<std::vector<std::byte>> inputs;
  // One for each model output; empty if the data have no labels.
  std::vector<std::vector<std::byte>> labels;
  std::vector<float> weights;      // Of the examples; empty: each has weight 1.
  std::optional<LoadTimes> times;  // If they were measured.
};

// Assembles batches from a dataset: a thread of the loader assembles the next ones while the caller
// computes on the current one. Get belongs to one thread.
//
// Data in memory are assembled one batch ahead. Batches of other data differ in time, so several
// are assembled ahead: twice as many as before whenever the caller has to wait although the loader
// had been ahead of it since the last time. (A loader that is never ahead gains nothing by it.)
class BatchLoader {
 public:
  // The most batches that are assembled ahead.
  static constexpr int kMostAhead = 16;

  // Reserves memory for two batches; throws std::bad_alloc. Further ones take it from `storage`
  // while that has room; null: there are none. Data on disk, and those with steps of a pipeline,
  // are read by as many threads as ReaderCount says.
  BatchLoader(std::shared_ptr<const Dataset> dataset, BatchSampler order,
              std::shared_ptr<DataStorage> storage = nullptr);
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  // Returns the batch, which stays valid until the next Get. Returns at once if it was in `next` of
  // the previous Get and is ready; waits for it if it is being assembled; else assembles it. `next`
  // are the batches of the next calls in their order, as far as they are known; others that were
  // assembled ahead are dropped. `later` is that of a later call, whose files are opened meanwhile.
  // Errors as Dataset::Read. Lack of memory is ResourceExhausted on the loader's threads and
  // std::bad_alloc on the caller's.
  absl::StatusOr<const LoadedBatch*> Get(int64_t batch, absl::Span<const int64_t> next,
                                         std::optional<int64_t> later = std::nullopt);

  // More batches of the next calls are known now, in their order. Callable from any thread.
  void Expect(absl::Span<const int64_t> next);

  // The number of batches that are ready for the next calls of Get. Callable from any thread.
  int ready() const;

  // Whether to measure the times of the batches that are assembled from now on.
  void set_measures(bool measures) { measures_ = measures; }

  // Whether every input and label of a batch that Get returned is a finite number. Data with
  // "allow_nan" may hold others. Reads the batch.
  bool IsFinite(const LoadedBatch& batch) const;

 private:
  using Clock = std::chrono::steady_clock;
  // A batch that was assembled ahead.
  struct Ahead {
    int64_t number = -1;
    LoadedBatch batch;
    absl::Status status;
  };

  // Of a full batch.
  int64_t ExamplesMax() const;
  uint64_t BatchBytes() const;
  void Reserve(LoadedBatch* batch) const;
  absl::Status Assemble(int64_t number, LoadedBatch* batch, std::vector<int64_t>* indices);
  absl::Status Read(const std::vector<int64_t>& indices, size_t first, size_t count,
                    LoadedBatch* batch) const;
  // As Read. Adds to `times` unless it is null.
  absl::Status ReadMeasured(const std::vector<int64_t>& indices, size_t first, size_t count,
                            LoadedBatch* batch, LoadTimes* times) const;
  absl::Status ReadInPieces(const std::vector<int64_t>& indices, LoadedBatch* batch);
  void OpenFiles(int64_t batch);
  // If the batch was assembled ahead, makes it the current one and returns its status. Waits for it
  // if it is being assembled.
  std::optional<absl::Status> TakeReady(int64_t batch);
  void SetWanted(absl::Span<const int64_t> next);
  bool IsWanted(int64_t batch) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsReady(int64_t batch) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The batch that the loader's thread should assemble now; there is a free buffer for it.
  std::optional<int64_t> NextToAssemble() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool MakeBuffer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Run();

  const std::shared_ptr<const Dataset> dataset_;
  const BatchSampler order_;
  const std::shared_ptr<DataStorage> storage_;
  std::atomic<bool> is_opening_ = false;  // A reader opens files for a later batch.
  // Null: the data are in memory.
  std::unique_ptr<ThreadPool> readers_;
  ReaderCount count_;
  std::atomic<bool> measures_ = false;

  // Belong to the thread that calls Get.
  LoadedBatch current_;
  std::vector<int64_t> indices_;
  std::optional<Clock::time_point> given_;  // When the last Get ended.

  mutable Mutex mutex_;
  ConditionVariable changed_;
  bool is_stopped_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t given_number_ ABSL_GUARDED_BY(mutex_) = -1;    // Of the last Get.
  std::vector<int64_t> wanted_ ABSL_GUARDED_BY(mutex_);  // The next calls' batches, in order.
  std::vector<Ahead> ready_ ABSL_GUARDED_BY(mutex_);     // Some of wanted_.
  std::optional<int64_t> assembling_ ABSL_GUARDED_BY(mutex_);
  std::vector<LoadedBatch> free_ ABSL_GUARDED_BY(mutex_);
  // Of the batches in ready_ and free_ and the one being assembled; all but one are of storage_.
  int buffers_ ABSL_GUARDED_BY(mutex_) = 1;
  int depth_ ABSL_GUARDED_BY(mutex_) = 1;  // So many of wanted_ are assembled.
  int most_ ABSL_GUARDED_BY(mutex_) = 1;   // Of depth_.
  // Since depth_ grew, so many were ready.
  bool was_full_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_BATCH_LOADER_H_
