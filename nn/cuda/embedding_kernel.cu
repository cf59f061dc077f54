#include <utility>

#include "nn/cuda/id_input.h"
#include "nn/cuda/kernels.h"
#include "nn/cuda/loops.h"
#include "nn/layers/embedding.h"

namespace cairn::nn::cuda {
namespace {

// An id of the batch and its place in the batch, in the order of (id, place). All keys of a batch
// are different.
using Key = uint64_t;

__device__ int64_t IdOf(Key key) { return static_cast<int64_t>(key >> 32); }
__device__ int64_t PlaceOf(Key key) { return static_cast<int64_t>(key & 0xffffffff); }

constexpr unsigned kSortedByBlock = 512;

// Sorts each kSortedByBlock keys. A key's place is the number of smaller ones.
__global__ void SortPiecesKernel(int64_t count, Ids ids, Key* keys) {
  auto* const shared = SharedMemory<Key>();
  const int64_t begin = int64_t{blockIdx.x} * blockDim.x;
  const int64_t i = begin + threadIdx.x;
  const int64_t length = count - begin < blockDim.x ? count - begin : blockDim.x;
  Key key = 0;
  if (i < count) {
    const int64_t id = ids.At(i);
    key = (static_cast<Key>(id < 0 ? 0 : id) << 32) | static_cast<Key>(i);
    shared[threadIdx.x] = key;
  }
  __syncthreads();
  if (i >= count) return;
  int64_t smaller = 0;
  for (int64_t k = 0; k < length; ++k) smaller += shared[k] < key;
  keys[begin + smaller] = key;
}

// Merges each pair of neighboring sorted pieces of `length` keys: a key moves by the number of
// smaller ones in the other piece.
void MergePieces(Context* context, int64_t count, const Divisor& length, const Key* from, Key* to) {
  ForEach(context, count, [=] __device__(int64_t i) {
    const int64_t piece = i / length;
    const bool is_left = piece % 2 == 0;
    const int64_t other = (is_left ? piece + 1 : piece - 1) * length;
    const int64_t begin = other < count ? other : count;
    int64_t low = begin, high = begin + length < count ? begin + length : count;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (from[middle] < from[i]) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    to[(is_left ? i : i - length) + (low - begin)] = from[i];
  });
}

// Keys of one id are added in two steps, so that an id that fills the batch has many threads: first
// those in a run, which ends at the multiples of kRun, then the sums of the runs.
constexpr int64_t kRun = 64;

// Adds the gradients of each run to that of its first place, in the order of the batch.
void AddRuns(Context* context, int64_t count, int64_t width, const Key* keys, float* gradient) {
  const Divisor columns = width;
  ForEach(context, count * width, [=] __device__(int64_t i) {
    const int64_t first = i / columns;
    const int64_t column = i - first * width;
    const int64_t id = IdOf(keys[first]);
    if (first % kRun != 0 && IdOf(keys[first - 1]) == id) return;
    int64_t end = (first / kRun + 1) * kRun;
    if (end > count) end = count;
    double sum = 0;
    for (int64_t k = first; k < end && IdOf(keys[k]) == id; ++k) {
      sum += gradient[PlaceOf(keys[k]) * width + column];
    }
    gradient[PlaceOf(keys[first]) * width + column] = static_cast<float>(sum);
  });
}

// Writes the sum of the runs of each id to its row of the table.
void AddIds(Context* context, int64_t count, int64_t width, const Key* keys, const float* gradient,
            float* table) {
  const Divisor columns = width;
  ForEach(context, count * width, [=] __device__(int64_t i) {
    const int64_t first = i / columns;
    const int64_t column = i - first * width;
    const int64_t id = IdOf(keys[first]);
    if (first != 0 && IdOf(keys[first - 1]) == id) return;
    double sum = 0;
    for (int64_t k = first; k < count && IdOf(keys[k]) == id; k = (k / kRun + 1) * kRun) {
      sum += gradient[PlaceOf(keys[k]) * width + column];
    }
    table[id * width + column] = static_cast<float>(sum);
  });
}

// The sum of a row's gradients needs an order: the ids are sorted, by rank in small pieces that are
// then merged.
class EmbeddingKernel final : public Kernel {
 public:
  EmbeddingKernel(const EmbeddingLayer& layer, const KernelContext& context)
      : context_(context.cuda),
        layer_(layer),
        ids_(layer, context.options.examples, layer.rows(), "rows", context.cuda),
        keys_(context.cuda, context.options.training ? ids_.count() : 0),
        merged_(context.cuda, context.options.training ? ids_.count() : 0) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    const Ids ids = ids_.Of(arguments.inputs[0]);
    const float* const table = arguments.variables[0];
    float* const output = arguments.output;
    double* const invalid = arguments.invalid;
    const int64_t width = layer_.width();
    const Divisor columns = width;
    ForEach(context_, ids_.count() * width, [=] __device__(int64_t i) {
      const int64_t place = i / columns;
      const int64_t id = ids.At(place);
      if (id < 0) *invalid = 1;
      output[i] = id < 0 ? 0 : table[id * width + (i - place * width)];
    });
    return absl::OkStatus();
  }

  absl::Status FindInvalid(const ForwardArguments& arguments) override {
    return ids_.FindInvalid(arguments.inputs[0]);
  }

  void Backward(const BackwardArguments& arguments) override {
    float* const table = arguments.variable_gradients[0];
    if (table == nullptr) return;
    const Key* const keys = SortIds(arguments.inputs[0]);
    context_->Zero(table, layer_.rows() * layer_.width() * sizeof(float));
    AddRuns(context_, ids_.count(), layer_.width(), keys, arguments.output_gradient);
    AddIds(context_, ids_.count(), layer_.width(), keys, arguments.output_gradient, table);
  }

 private:
  const Key* SortIds(const float* input) {
    const int64_t count = ids_.count();
    unsigned threads = 32;
    while (threads < kSortedByBlock && threads < count) threads *= 2;
    const int64_t blocks = (count + threads - 1) / threads;
    context_->Note(
        Launch(SortPiecesKernel, static_cast<unsigned>(blocks), threads, threads * sizeof(Key),
               context_->stream(), count, ids_.Of(input), keys_.data()),
        "cudaLaunchKernel");
    Key* from = keys_.data();
    Key* to = merged_.data();
    for (int64_t length = threads; length < count; length *= 2) {
      MergePieces(context_, count, length, from, to);
      std::swap(from, to);
    }
    return from;
  }

  Context* const context_;
  const EmbeddingLayer& layer_;
  const IdInput ids_;
  DeviceArray<Key> keys_;
  DeviceArray<Key> merged_;
};

}  // namespace

std::unique_ptr<Kernel> CreateEmbeddingKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<EmbeddingKernel>(static_cast<const EmbeddingLayer&>(layer), context);
}

}  // namespace cairn::nn::cuda
