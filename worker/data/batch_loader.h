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
#include "common/mutex.h"
#include "common/thread_pool.h"
#include "worker/data/batch_sampler.h"
#include "worker/data/dataset.h"
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

// Assembles batches from a dataset, with double buffering: a thread of the loader assembles the
// next batch while the caller computes on the current one. Get belongs to one thread.
class BatchLoader {
 public:
  // Reserves memory for two batches; throws std::bad_alloc. Data on disk, and those with steps of a
  // pipeline, are read by as many threads as ReaderCount says.
  BatchLoader(std::shared_ptr<const Dataset> dataset, BatchSampler order);
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  // Returns the batch, which stays valid until the next Get. Returns at once if it was the `next`
  // of the previous Get and is ready; waits for it if it is being assembled; else assembles it.
  // `next` is the batch of the next Get, as far as is known, and `later` that of a later one, whose
  // files are opened meanwhile. Errors as Dataset::Read. Lack of
  // memory is ResourceExhausted on the loader's threads and std::bad_alloc on the caller's.
  absl::StatusOr<const LoadedBatch*> Get(int64_t batch, std::optional<int64_t> next,
                                         std::optional<int64_t> later = std::nullopt);

  // Whether to measure the times of the batches that are assembled from now on.
  void set_measures(bool measures) { measures_ = measures; }

  // Whether every input and label of a batch that Get returned is a finite number. Data with
  // "allow_nan" may hold others. Reads the batch.
  bool IsFinite(const LoadedBatch& batch) const;

 private:
  using Clock = std::chrono::steady_clock;
  enum class Stage { kIdle, kAsked, kReady, kStopped };

  void Reserve(LoadedBatch* batch) const;
  absl::Status Assemble(int64_t number, LoadedBatch* batch, std::vector<int64_t>* indices);
  absl::Status Read(const std::vector<int64_t>& indices, size_t first, size_t count,
                    LoadedBatch* batch) const;
  // As Read. Adds to `times` unless it is null.
  absl::Status ReadMeasured(const std::vector<int64_t>& indices, size_t first, size_t count,
                            LoadedBatch* batch, LoadTimes* times) const;
  absl::Status ReadInPieces(const std::vector<int64_t>& indices, LoadedBatch* batch);
  void OpenFiles(int64_t batch);
  // Waits for the staged batch. If it is `batch`, makes it the current one and returns its status.
  std::optional<absl::Status> TakeStaged(int64_t batch);
  void Run();

  const std::shared_ptr<const Dataset> dataset_;
  const BatchSampler order_;
  std::atomic<bool> is_opening_ = false;  // A reader opens files for a later batch.
  // Null: the data are in memory.
  std::unique_ptr<ThreadPool> readers_;
  ReaderCount count_;
  std::atomic<bool> measures_ = false;

  // Belong to the thread that calls Get.
  LoadedBatch current_;
  std::vector<int64_t> indices_;
  std::optional<Clock::time_point> given_;  // When the last Get ended.

  Mutex mutex_;
  ConditionVariable changed_;
  Stage stage_ ABSL_GUARDED_BY(mutex_) = Stage::kIdle;
  // Belongs to thread_ while stage_ is kAsked, else to the thread that calls Get.
  LoadedBatch staged_;
  int64_t staged_number_ ABSL_GUARDED_BY(mutex_) = -1;
  absl::Status staged_status_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_BATCH_LOADER_H_
