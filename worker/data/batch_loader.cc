#include "worker/data/batch_loader.h"

#include <algorithm>
#include <utility>

namespace cairn::worker {

BatchLoader::BatchLoader(std::shared_ptr<const Dataset> dataset, BatchOrder order)
    : dataset_(std::move(dataset)), order_(order) {
  Reserve(&current_);
  Reserve(&staged_);
  thread_ = std::thread([this] { Run(); });
}

// All that will be needed, so that a lack of memory shows before the first batch.
void BatchLoader::Reserve(LoadedBatch* batch) const {
  const int64_t examples = std::min(order_.batch_size(), dataset_->examples());
  batch->inputs.resize(dataset_->inputs());
  for (int i = 0; i < dataset_->inputs(); ++i) {
    batch->inputs[i].reserve(examples * dataset_->input_elements(i) * 4);
  }
  batch->labels.reserve(examples * dataset_->label_elements() * 4);
}

BatchLoader::~BatchLoader() {
  {
    MutexLock lock(&mutex_);
    // A batch that is being assembled is finished first: Run looks at the stage afterwards.
    stage_ = Stage::kStopped;
    changed_.NotifyAll();
  }
  thread_.join();
}

void BatchLoader::Assemble(int64_t number, LoadedBatch* batch,
                           std::vector<int64_t>* indices) const {
  order_.ExamplesOf(number, indices);
  batch->batch = number;
  batch->examples = static_cast<int64_t>(indices->size());
  for (int i = 0; i < dataset_->inputs(); ++i) {
    batch->inputs[i].resize(batch->examples * dataset_->input_elements(i) * 4);
    dataset_->ReadInput(i, *indices, batch->inputs[i].data());
  }
  batch->labels.resize(batch->examples * dataset_->label_elements() * 4);
  dataset_->ReadLabels(*indices, batch->labels.data());
}

bool BatchLoader::TakeStaged(int64_t batch) {
  MutexLock lock(&mutex_);
  while (stage_ == Stage::kAsked) changed_.Wait(&mutex_);
  if (stage_ != Stage::kReady || staged_number_ != batch) return false;
  std::swap(current_, staged_);
  stage_ = Stage::kIdle;
  return true;
}

const LoadedBatch& BatchLoader::Get(int64_t batch, std::optional<int64_t> next) {
  if (!TakeStaged(batch)) Assemble(batch, &current_, &indices_);
  if (next) {
    MutexLock lock(&mutex_);
    staged_number_ = *next;
    stage_ = Stage::kAsked;
    changed_.NotifyAll();
  }
  return current_;
}

void BatchLoader::Run() {
  std::vector<int64_t> indices;
  while (true) {
    int64_t number;
    {
      MutexLock lock(&mutex_);
      while (stage_ != Stage::kAsked && stage_ != Stage::kStopped) changed_.Wait(&mutex_);
      if (stage_ == Stage::kStopped) return;
      number = staged_number_;
    }
    Assemble(number, &staged_, &indices);
    MutexLock lock(&mutex_);
    if (stage_ == Stage::kStopped) return;
    stage_ = Stage::kReady;
    changed_.NotifyAll();
  }
}

}  // namespace cairn::worker
