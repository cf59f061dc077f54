#include "worker/data/batch_loader.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <latch>
#include <new>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "common/failpoint.h"
#include "common/status_macros.h"
#include "worker/data/files/read_at.h"

namespace cairn::worker {
namespace {

// At least 8: these threads wait for the disk. More cores decode in parallel.
int ReadersMax() { return std::max(8, static_cast<int>(std::thread::hardware_concurrency())); }

int64_t NanosecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
}

// Turns std::bad_alloc into a status. An exception that leaves a thread would end the process.
absl::Status OrNoMemory(absl::FunctionRef<absl::Status()> work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("this worker has not enough memory to read a batch");
  }
}

bool IsFiniteColumn(proto::DataType type, const std::vector<std::byte>& column) {
  if (type != proto::FLOAT32) return true;
  for (size_t at = 0; at < column.size(); at += sizeof(float)) {
    float value;
    std::memcpy(&value, column.data() + at, sizeof(value));
    if (!std::isfinite(value)) return false;
  }
  return true;
}

}  // namespace

BatchLoader::BatchLoader(std::shared_ptr<const Dataset> dataset, BatchSampler order,
                         std::shared_ptr<DataStorage> storage)
    : dataset_(std::move(dataset)),
      order_(order),
      storage_(std::move(storage)),
      count_(ReadersMax()) {
  if (!dataset_->in_memory() || dataset_->has_steps()) {
    readers_ = std::make_unique<ThreadPool>(ReadersMax(), "data readers", ReadersMax());
    if (storage_ != nullptr) most_ = kMostAhead;
  }
  Reserve(&current_);
  // Later, on the loader's thread, a lack of memory for these would end the process.
  free_.reserve(kMostAhead);
  ready_.reserve(kMostAhead);
  Reserve(&free_.emplace_back());
  thread_ = std::thread([this] { Run(); });
}

int64_t BatchLoader::ExamplesMax() const {
  return std::min(order_.batch_size(), dataset_->examples());
}

uint64_t BatchLoader::BatchBytes() const {
  int64_t elements = dataset_->has_weights() ? 1 : 0;  // Of 4 bytes, of an example.
  for (int i = 0; i < dataset_->inputs(); ++i) elements += dataset_->input_elements(i);
  for (int i = 0; i < dataset_->outputs(); ++i) elements += dataset_->label_elements(i);
  return static_cast<uint64_t>(ExamplesMax() * elements * 4);
}

// Reserves all memory, so that a lack of it is found before the first batch.
void BatchLoader::Reserve(LoadedBatch* batch) const {
  const int64_t examples = ExamplesMax();
  batch->inputs.resize(dataset_->inputs());
  for (int i = 0; i < dataset_->inputs(); ++i) {
    batch->inputs[i].reserve(examples * dataset_->input_elements(i) * 4);
  }
  batch->labels.resize(dataset_->outputs());
  for (int i = 0; i < dataset_->outputs(); ++i) {
    batch->labels[i].reserve(examples * dataset_->label_elements(i) * 4);
  }
  if (dataset_->has_weights()) batch->weights.reserve(examples);
}

BatchLoader::~BatchLoader() {
  {
    MutexLock lock(&mutex_);
    // Run finishes a batch in progress first.
    is_stopped_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
  if (buffers_ > 1) storage_->ReturnMemory((buffers_ - 1) * BatchBytes());
}

absl::Status BatchLoader::Assemble(int64_t number, LoadedBatch* batch,
                                   std::vector<int64_t>* indices) {
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("worker.read_batch"));
  order_.ExamplesOf(number, indices);
  batch->batch = number;
  batch->examples = static_cast<int64_t>(indices->size());
  for (int i = 0; i < dataset_->inputs(); ++i) {
    batch->inputs[i].resize(batch->examples * dataset_->input_elements(i) * 4);
  }
  for (int i = 0; i < dataset_->outputs(); ++i) {
    batch->labels[i].resize(batch->examples * dataset_->label_elements(i) * 4);
  }
  if (dataset_->has_weights()) batch->weights.resize(batch->examples);
  batch->times.reset();
  if (measures_) batch->times.emplace();
  if (readers_ == nullptr) {
    return ReadMeasured(*indices, 0, indices->size(), batch,
                        batch->times ? &*batch->times : nullptr);
  }
  return ReadInPieces(*indices, batch);
}

// Examples [first, first + count) of the batch.
absl::Status BatchLoader::Read(const std::vector<int64_t>& indices, size_t first, size_t count,
                               LoadedBatch* batch) const {
  Dataset::Buffers buffers;
  for (int i = 0; i < dataset_->inputs(); ++i) {
    buffers.inputs.push_back(batch->inputs[i].data() + first * dataset_->input_elements(i) * 4);
  }
  for (int i = 0; i < dataset_->outputs(); ++i) {
    buffers.labels.push_back(batch->labels[i].data() + first * dataset_->label_elements(i) * 4);
  }
  if (dataset_->has_weights()) buffers.weights = batch->weights.data() + first;
  return dataset_->Read(absl::MakeConstSpan(indices).subspan(first, count), buffers,
                        order_.DrawKeyOf(batch->batch));
}

absl::Status BatchLoader::ReadMeasured(const std::vector<int64_t>& indices, size_t first,
                                       size_t count, LoadedBatch* batch, LoadTimes* times) const {
  if (times == nullptr) return Read(indices, first, count, batch);
  const ReadTimer timer;
  const int64_t begin = ReadTimer::ProcessorNanoseconds();
  const absl::Status status = Read(indices, first, count, batch);
  times->reading += timer.nanoseconds();
  times->decoding += ReadTimer::ProcessorNanoseconds() - begin - timer.processor_nanoseconds();
  return status;
}

absl::Status BatchLoader::ReadInPieces(const std::vector<int64_t>& indices, LoadedBatch* batch) {
  // Pieces are disjoint ranges of the batch, so the readers need no lock.
  const size_t threads = count_.threads();
  const size_t size = (indices.size() + threads - 1) / threads;
  const size_t pieces = (indices.size() + size - 1) / size;
  std::vector<absl::Status> statuses(pieces);
  std::vector<LoadTimes> times(pieces);
  std::atomic<int64_t> spent = 0;
  std::latch done(static_cast<std::ptrdiff_t>(pieces));
  for (size_t piece = 0; piece < pieces; ++piece) {
    const auto read = [&, piece] {
      const Clock::time_point start = Clock::now();
      const size_t first = piece * size;
      const size_t count = std::min(size, indices.size() - first);
      LoadTimes* const its = batch->times ? &times[piece] : nullptr;
      statuses[piece] = OrNoMemory([&] { return ReadMeasured(indices, first, count, batch, its); });
      spent += NanosecondsSince(start);
      done.count_down();
    };
    if (pieces == 1) {
      read();
      break;
    }
    try {
      readers_->Submit(read);
    } catch (const std::bad_alloc&) {
      read();  // Not thrown: the submitted pieces use local variables until `done` is reached.
    }
  }
  done.wait();
  count_.AddBatch(spent);
  for (const LoadTimes& each : times) {
    if (!batch->times) break;
    batch->times->reading += each.reading;
    batch->times->decoding += each.decoding;
  }
  for (const absl::Status& status : statuses) CAIRN_RETURN_IF_ERROR(status);
  return absl::OkStatus();
}

bool BatchLoader::IsWanted(int64_t batch) const {
  return std::find(wanted_.begin(), wanted_.end(), batch) != wanted_.end();
}

bool BatchLoader::IsReady(int64_t batch) const {
  return std::any_of(ready_.begin(), ready_.end(),
                     [batch](const Ahead& ahead) { return ahead.number == batch; });
}

int BatchLoader::ready() const {
  MutexLock lock(&mutex_);
  return static_cast<int>(ready_.size());
}

std::optional<absl::Status> BatchLoader::TakeReady(int64_t batch) {
  MutexLock lock(&mutex_);
  given_number_ = batch;
  if (!IsWanted(batch)) return std::nullopt;
  if (!IsReady(batch) && was_full_ && depth_ < most_) {
    depth_ = std::min(2 * depth_, most_);
    was_full_ = false;
  }
  while (assembling_ == batch) changed_.Wait(&mutex_);
  std::erase(wanted_, batch);
  for (auto ahead = ready_.begin(); ahead != ready_.end(); ++ahead) {
    if (ahead->number != batch) continue;
    const absl::Status status = ahead->status;
    std::swap(current_, ahead->batch);
    free_.push_back(std::move(ahead->batch));
    ready_.erase(ahead);
    return status;
  }
  return std::nullopt;  // Its turn has not come: the caller assembles it.
}

void BatchLoader::SetWanted(absl::Span<const int64_t> next) {
  MutexLock lock(&mutex_);
  wanted_.assign(next.begin(), next.begin() + std::min<size_t>(next.size(), kMostAhead));
  for (auto ahead = ready_.begin(); ahead != ready_.end();) {
    if (IsWanted(ahead->number)) {
      ++ahead;
      continue;
    }
    free_.push_back(std::move(ahead->batch));
    ahead = ready_.erase(ahead);
  }
  changed_.NotifyAll();
}

void BatchLoader::Expect(absl::Span<const int64_t> next) {
  MutexLock lock(&mutex_);
  for (const int64_t batch : next) {
    // Get may have been called since the caller looked.
    if (batch <= given_number_ || IsWanted(batch) || wanted_.size() >= kMostAhead) continue;
    wanted_.push_back(batch);
  }
  changed_.NotifyAll();
}

// Whether there is one more buffer, of the storage's memory.
bool BatchLoader::MakeBuffer() {
  if (!storage_->TakeMemory(BatchBytes())) return false;
  try {
    LoadedBatch buffer;
    Reserve(&buffer);
    free_.push_back(std::move(buffer));
  } catch (const std::bad_alloc&) {
    storage_->ReturnMemory(BatchBytes());
    return false;
  }
  ++buffers_;
  return true;
}

std::optional<int64_t> BatchLoader::NextToAssemble() {
  for (size_t i = 0; i < wanted_.size() && i < static_cast<size_t>(depth_); ++i) {
    if (IsReady(wanted_[i])) continue;
    if (!free_.empty()) return wanted_[i];
    if (buffers_ >= depth_) return std::nullopt;  // They have later batches.
    if (MakeBuffer()) return wanted_[i];
    depth_ = most_ = buffers_;  // There is no room for more.
  }
  if (!ready_.empty()) was_full_ = true;
  return std::nullopt;
}

// One batch at a time: the files of one that is passed over are opened when it is read.
void BatchLoader::OpenFiles(int64_t batch) {
  if (readers_ == nullptr || is_opening_.exchange(true)) return;
  const bool submitted = readers_->TrySubmit([this, batch] {
    // Errors are those of reading the batch, if it comes to that.
    OrNoMemory([&] {
      std::vector<int64_t> indices;
      order_.ExamplesOf(batch, &indices);
      return dataset_->OpenFiles(indices);
    }).IgnoreError();
    is_opening_ = false;
  });
  if (!submitted) is_opening_ = false;
}

absl::StatusOr<const LoadedBatch*> BatchLoader::Get(int64_t batch, absl::Span<const int64_t> next,
                                                    std::optional<int64_t> later) {
  if (given_) count_.AddStep(NanosecondsSince(*given_));
  const std::optional<absl::Status> ready = TakeReady(batch);
  CAIRN_RETURN_IF_ERROR(ready ? *ready : Assemble(batch, &current_, &indices_));
  SetWanted(next);
  if (later && !dataset_->is_open()) OpenFiles(*later);
  given_ = Clock::now();
  return &current_;
}

bool BatchLoader::IsFinite(const LoadedBatch& batch) const {
  for (int i = 0; i < dataset_->inputs(); ++i) {
    if (!IsFiniteColumn(dataset_->input_type(i), batch.inputs[i])) return false;
  }
  for (int i = 0; i < dataset_->outputs(); ++i) {
    if (!IsFiniteColumn(dataset_->label_type(i), batch.labels[i])) return false;
  }
  return true;
}

void BatchLoader::Run() {
  std::vector<int64_t> indices;
  while (true) {
    Ahead ahead;
    {
      MutexLock lock(&mutex_);
      while (!is_stopped_ && !(assembling_ = NextToAssemble())) changed_.Wait(&mutex_);
      if (is_stopped_) return;
      ahead.number = *assembling_;
      ahead.batch = std::move(free_.back());
      free_.pop_back();
    }
    ahead.status = OrNoMemory([&] { return Assemble(ahead.number, &ahead.batch, &indices); });
    MutexLock lock(&mutex_);
    assembling_.reset();
    if (IsWanted(ahead.number)) {
      ready_.push_back(std::move(ahead));
    } else {
      free_.push_back(std::move(ahead.batch));
    }
    changed_.NotifyAll();
  }
}

}  // namespace cairn::worker
