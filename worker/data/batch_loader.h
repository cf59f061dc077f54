#ifndef CAIRN_WORKER_DATA_BATCH_LOADER_H_
#define CAIRN_WORKER_DATA_BATCH_LOADER_H_

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
#include "worker/data/batch_order.h"
#include "worker/data/dataset.h"

namespace cairn::worker {

// A batch in the layout that the executor takes.
struct LoadedBatch {
  int64_t batch = -1;
  int64_t examples = 0;
  // One per model input; elements of 4 bytes.
  std::vector<std::vector<std::byte>> inputs;
  // One per model output; none if the data have no labels.
  std::vector<std::vector<std::byte>> labels;
  std::vector<float> weights;  // Of the examples; empty: all count alike.
};

// Assembles batches, and the one that is needed next on a thread of its own while the caller
// computes. Get belongs to one thread.
class BatchLoader {
 public:
  // Data on disk are read by several threads at a time. Throws std::bad_alloc.
  BatchLoader(std::shared_ptr<const Dataset> dataset, BatchOrder order);
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  // The batch, which stays valid until the next Get. Does not wait if it was the `next` of the Get
  // before and is ready, else assembles it at once. `next` is the batch that will probably be asked
  // for next, if that is known. Errors as Dataset::ReadInput and CheckUnchanged; ResourceExhausted,
  // or std::bad_alloc where this thread met it: no memory.
  absl::StatusOr<const LoadedBatch*> Get(int64_t batch, std::optional<int64_t> next);

 private:
  enum class Stage { kIdle, kAsked, kReady, kStopped };

  void Reserve(LoadedBatch* batch) const;
  absl::Status Assemble(int64_t number, LoadedBatch* batch, std::vector<int64_t>* indices);
  absl::Status Read(const std::vector<int64_t>& indices, size_t first, size_t count,
                    LoadedBatch* batch) const;
  absl::Status ReadInPieces(const std::vector<int64_t>& indices, LoadedBatch* batch);
  // The status of the staged batch, if it is this one.
  std::optional<absl::Status> TakeStaged(int64_t batch);
  void Run();

  const std::shared_ptr<const Dataset> dataset_;
  const BatchOrder order_;
  // Null: the data are in memory.
  std::unique_ptr<ThreadPool> readers_;

  // Of Get's thread.
  LoadedBatch current_;
  std::vector<int64_t> indices_;

  Mutex mutex_;
  ConditionVariable changed_;
  Stage stage_ ABSL_GUARDED_BY(mutex_) = Stage::kIdle;
  // The thread's while stage_ is kAsked (but for `batch`, its number), else Get's.
  LoadedBatch staged_;
  int64_t staged_number_ ABSL_GUARDED_BY(mutex_) = -1;
  absl::Status staged_status_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_BATCH_LOADER_H_
