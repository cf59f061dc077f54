#ifndef CAIRN_NN_CUDA_ROW_SUMS_H_
#define CAIRN_NN_CUDA_ROW_SUMS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "nn/cuda/context.h"
#include "nn/cuda/loops.h"

// Sums over all rows of a matrix, and counts by bucket: what losses and metrics consist of. Only
// .cu files include this. As in loops.h, sums are computed in double and have a fixed order.

namespace cairn::nn::cuda {

// The threads that compute one row together. A block has several such teams, and all of them call
// Sum and the like equally often, also a team that has no row: its loops are empty.
//
//   double sum = 0;
//   for (int64_t c = team.first(); c < width; c += team.step()) sum += row[c];
//   sum = team.Sum(sum);
//   if (team.leads()) sums[0] += sum;
class RowTeam {
 public:
  // `shared` has two numbers for each thread of the block.
  __device__ RowTeam(double* shared, bool has_row) : shared_(shared), has_row_(has_row) {}

  __device__ int64_t first() const {
    return has_row_ ? int64_t{threadIdx.x} : std::numeric_limits<int64_t>::max();
  }
  __device__ int64_t step() const { return blockDim.x; }
  // True for one thread of a team that has a row.
  __device__ bool leads() const { return has_row_ && threadIdx.x == 0; }

  // The sum of all threads' values, for all threads.
  __device__ double Sum(double value) const {
    return Combine(value, [](double a, double b) { return a + b; });
  }
  // The maximum of all threads' values, for all threads. Ignores NaN.
  __device__ double Maximum(double value) const {
    return Combine(value, [](double a, double b) { return a < b ? b : a; });
  }

  // The place of the largest value(c) of a row of `width`, the first one among equals; as
  // std::max_element, also if there are NaN.
  template <typename Value>
  __device__ int64_t Largest(int64_t width, Value value) const {
    double largest = -HUGE_VAL;
    int64_t place = 0;
    for (int64_t c = first(); c < width; c += step()) {
      if (largest < value(c)) {
        largest = value(c);
        place = c;
      }
    }
    double* const values = shared_ + Thread();
    double* const places = shared_ + int64_t{blockDim.x} * blockDim.y + Thread();
    *values = largest;
    *places = static_cast<double>(place);
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
      if (threadIdx.x < half) {
        const bool is_first = values[half] == *values && places[half] < *places;
        if (*values < values[half] || is_first) {
          *values = values[half];
          *places = places[half];
        }
      }
      __syncthreads();
    }
    const auto found = static_cast<int64_t>(places[-int64_t{threadIdx.x}]);
    // The next call overwrites the memory.
    __syncthreads();
    // NaN is not less than another value: if it comes first, it stays.
    return value(0) == value(0) ? found : 0;
  }

 private:
  __device__ int64_t Thread() const { return int64_t{threadIdx.y} * blockDim.x + threadIdx.x; }

  template <typename Function>
  __device__ double Combine(double value, Function function) const {
    if (blockDim.x == 1) return value;
    double* const own = shared_ + Thread();
    *own = value;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
      if (threadIdx.x < half) *own = function(*own, own[half]);
      __syncthreads();
    }
    const double result = own[-int64_t{threadIdx.x}];
    // The next call overwrites the memory.
    __syncthreads();
    return result;
  }

  double* const shared_;
  const bool has_row_;
};

// At most so many blocks sum rows, each with at most so many sums.
constexpr int64_t kRowPiecesMax = 1024;
constexpr int kRowSumsMax = 4;
// Scratch memory that SumRows needs.
constexpr size_t kRowScratchBytes = kRowPiecesMax * kRowSumsMax * sizeof(double);

// The sums of all threads of a block, for the first thread.
template <int kSums>
__device__ void SumBlock(double* shared, double* sums) {
  const unsigned threads = blockDim.x * blockDim.y;
  const unsigned thread = threadIdx.y * blockDim.x + threadIdx.x;
  __syncthreads();
  for (int i = 0; i < kSums; ++i) shared[i * threads + thread] = sums[i];
  for (unsigned half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread >= half) continue;
    for (int i = 0; i < kSums; ++i)
      shared[i * threads + thread] += shared[i * threads + thread + half];
  }
  if (thread == 0) {
    for (int i = 0; i < kSums; ++i) sums[i] = shared[i * threads];
  }
}

template <int kSums, typename Body, typename Finish>
__global__ void SumRowsKernel(int64_t rows, Body body, double* pieces, Finish finish) {
  static_assert(kSums <= kRowSumsMax);
  auto* const shared = SharedMemory<double>();
  double sums[kSums] = {};
  const int64_t step = int64_t{gridDim.x} * blockDim.y;
  for (int64_t begin = int64_t{blockIdx.x} * blockDim.y; begin < rows; begin += step) {
    const int64_t row = begin + threadIdx.y;
    body(row < rows ? row : rows - 1, RowTeam(shared, row < rows), sums);
  }
  SumBlock<kSums>(shared, sums);
  if (threadIdx.x != 0 || threadIdx.y != 0) return;
  if (gridDim.x == 1) {
    finish(sums);
  } else {
    for (int i = 0; i < kSums; ++i) pieces[blockIdx.x * kSums + i] = sums[i];
  }
}

template <int kSums, typename Finish>
__global__ void AddRowPiecesKernel(int64_t count, const double* pieces, Finish finish) {
  double sums[kSums] = {};
  for (int64_t piece = threadIdx.x; piece < count; piece += blockDim.x) {
    for (int i = 0; i < kSums; ++i) sums[i] += pieces[piece * kSums + i];
  }
  SumBlock<kSums>(SharedMemory<double>(), sums);
  if (threadIdx.x == 0) finish(sums);
}

// Calls body(row, team, sums) for each row with the threads of a team, which add to sums[0] to
// sums[kSums - 1], and then, in one thread, finish(sums) with the totals. `width` is the number of
// elements of a row. Small matrices take one launch, others two. Uses the scratch memory.
template <int kSums, typename Body, typename Finish>
void SumRows(Context* context, int64_t rows, int64_t width, Body body, Finish finish) {
  constexpr int64_t kElementsOfBlock = 4096;
  unsigned lanes = 1;
  while (lanes < kThreads && 4 * int64_t{lanes} < width) lanes *= 2;
  const unsigned threads = std::max(lanes, ThreadsFor(rows * lanes));
  const unsigned teams = threads / lanes;
  const int64_t blocks = std::clamp<int64_t>(rows * width / kElementsOfBlock, 1,
                                             std::min((rows + teams - 1) / teams, kRowPiecesMax));
  constexpr int kNumbersOfThread = std::max(kSums, 2);
  auto* const pieces = context->scratch<double>();
  context->Note(Launch(SumRowsKernel<kSums, Body, Finish>, static_cast<unsigned>(blocks),
                       dim3(lanes, teams), kNumbersOfThread * threads * sizeof(double),
                       context->stream(), rows, body, pieces, finish),
                "cudaLaunchKernel");
  if (blocks == 1) return;
  const unsigned adders = ThreadsFor(blocks);
  context->Note(Launch(AddRowPiecesKernel<kSums, Finish>, 1, adders,
                       kSums * adders * sizeof(double), context->stream(), blocks, pieces, finish),
                "cudaLaunchKernel");
}

// At most so many blocks count the rows.
constexpr int64_t kCountPiecesMax = 64;
// Scratch memory that CountBuckets needs.
inline size_t CountScratchBytes(int64_t buckets, int sums) {
  return kCountPiecesMax * buckets * sums * sizeof(double);
}

// Blocks in y have kThreads buckets each, blocks in x a part of the rows. A thread has one bucket
// and looks at the items of all rows: no thread adds to the bucket of another one.
template <int kSums, typename Item, typename MakeItem, typename AddItem>
__global__ void CountBucketsKernel(int64_t rows, int64_t buckets, MakeItem make_item,
                                   AddItem add_item, double* pieces) {
  auto* const items = SharedMemory<Item>();
  const int64_t bucket = int64_t{blockIdx.y} * blockDim.x + threadIdx.x;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  double sums[kSums] = {};
  for (int64_t begin = int64_t{blockIdx.x} * blockDim.x; begin < rows; begin += step) {
    const int64_t row = begin + threadIdx.x;
    if (row < rows) items[threadIdx.x] = make_item(row);
    __syncthreads();
    const int64_t count = rows - begin < blockDim.x ? rows - begin : blockDim.x;
    for (int64_t i = 0; i < count; ++i) add_item(items[i], bucket, sums);
    __syncthreads();
  }
  if (bucket >= buckets) return;
  for (int i = 0; i < kSums; ++i) {
    pieces[(blockIdx.x * kSums + i) * buckets + bucket] = sums[i];
  }
}

// Computes item = make_item(row) for each row, and for each bucket the sums to which
// add_item(item, bucket, sums) adds. Writes sum i of bucket b to state[i * buckets + b]. Small
// matrices take one launch, others two. Uses the scratch memory.
template <int kSums, typename Item, typename MakeItem, typename AddItem>
void CountBuckets(Context* context, int64_t rows, int64_t buckets, MakeItem make_item,
                  AddItem add_item, double* state) {
  constexpr int64_t kRowsOfBlock = 4 * kThreads;
  const unsigned threads = ThreadsFor(std::max(rows, buckets));
  const int64_t blocks = std::clamp<int64_t>(rows / kRowsOfBlock, 1, kCountPiecesMax);
  double* const pieces = blocks == 1 ? state : context->scratch<double>();
  const dim3 grid(static_cast<unsigned>(blocks),
                  static_cast<unsigned>((buckets + threads - 1) / threads));
  context->Note(
      Launch(CountBucketsKernel<kSums, Item, MakeItem, AddItem>, grid, threads,
             threads * sizeof(Item), context->stream(), rows, buckets, make_item, add_item, pieces),
      "cudaLaunchKernel");
  if (blocks == 1) return;
  const int64_t numbers = kSums * buckets;
  ForEach(context, numbers, [=] __device__(int64_t i) {
    double sum = 0;
    for (int64_t piece = 0; piece < blocks; ++piece) sum += pieces[piece * numbers + i];
    state[i] = sum;
  });
}

}  // namespace cairn::nn::cuda

#endif  // CAIRN_NN_CUDA_ROW_SUMS_H_
