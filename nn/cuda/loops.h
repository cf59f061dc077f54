#ifndef CAIRN_NN_CUDA_LOOPS_H_
#define CAIRN_NN_CUDA_LOOPS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "nn/cuda/context.h"
#include "nn/cuda/launch.h"

// The loops that most kernels consist of. Only .cu files include this. The bodies are __device__
// lambdas, which capture by value: pointers to device memory and numbers, never `this`.
//
// Sums have a fixed order, which depends on the sizes only: the same bits in every run. They are
// computed in double.

namespace cairn::nn::cuda {

constexpr int kThreads = 256;
constexpr int64_t kBlocksMax = 65535;

// Threads for a block that computes `count` terms together: a power of two.
inline unsigned ThreadsFor(int64_t count) {
  unsigned threads = 32;
  while (threads < kThreads && threads < count) threads *= 2;
  return threads;
}

template <typename Body>
__global__ void ForEachKernel(int64_t count, Body body) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) body(i);
}

// Calls body(i) for each i below `count`.
template <typename Body>
void ForEach(Context* context, int64_t count, Body body) {
  if (count == 0) return;
  const unsigned threads = ThreadsFor(count);
  const int64_t blocks = std::min((count + threads - 1) / threads, kBlocksMax);
  context->Note(Launch(ForEachKernel<Body>, static_cast<unsigned>(blocks), threads, 0,
                       context->stream(), count, body),
                "cudaLaunchKernel");
}

// The threads of a block that compute one row together: thread first() computes the elements
// first(), first() + step(), ...
class RowBlock {
 public:
  __device__ explicit RowBlock(double* shared) : shared_(shared) {}

  __device__ int64_t first() const { return threadIdx.x; }
  __device__ int64_t step() const { return blockDim.x; }

  // The sum, maximum or minimum of all threads' values, for all threads. All must call it.
  __device__ double Sum(double value) const {
    return Combine(value, [](double a, double b) { return a + b; });
  }
  __device__ double Maximum(double value) const {
    return Combine(value, [](double a, double b) { return a < b ? b : a; });
  }

 private:
  template <typename Function>
  __device__ double Combine(double value, Function function) const {
    shared_[threadIdx.x] = value;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
      if (threadIdx.x < half) {
        shared_[threadIdx.x] = function(shared_[threadIdx.x], shared_[threadIdx.x + half]);
      }
      __syncthreads();
    }
    const double result = shared_[0];
    // The next call overwrites the memory.
    __syncthreads();
    return result;
  }

  double* const shared_;
};

template <typename Body>
__global__ void ForEachRowKernel(int64_t rows, Body body) {
  const RowBlock block(SharedMemory<double>());
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) body(row, block);
}

// Calls body(row, block) for each row, with the threads of a block together. `width` is the number
// of elements of a row.
template <typename Body>
void ForEachRow(Context* context, int64_t rows, int64_t width, Body body) {
  if (rows == 0) return;
  const unsigned threads = ThreadsFor(width);
  context->Note(Launch(ForEachRowKernel<Body>, static_cast<unsigned>(std::min(rows, kBlocksMax)),
                       threads, threads * sizeof(double), context->stream(), rows, body),
                "cudaLaunchKernel");
}

// Sums over the rows of a matrix, by column. A block sums a piece of the rows of some columns; the
// pieces are added in order.
template <int kSums>
struct ColumnSums {
  double values[kSums] = {};
};

constexpr unsigned kColumnsOfBlock = 32;
constexpr unsigned kRowsOfBlock = 8;

inline int64_t ColumnPieces(int64_t rows) {
  return std::clamp<int64_t>(rows / (16 * kRowsOfBlock), 1, 64);
}

// Scratch memory that SumColumns needs.
template <int kSums>
size_t ColumnScratchBytes(int64_t rows, int64_t columns) {
  return ColumnPieces(rows) * columns * sizeof(ColumnSums<kSums>);
}

template <int kSums, typename Term, typename Finish>
__global__ void SumPiecesKernel(int64_t rows, int64_t columns, Term term, ColumnSums<kSums>* pieces,
                                Finish finish) {
  auto* const shared = SharedMemory<ColumnSums<kSums>>();
  const int64_t column = int64_t{blockIdx.x} * kColumnsOfBlock + threadIdx.x;
  const int64_t length = (rows + gridDim.y - 1) / gridDim.y;
  const int64_t begin = blockIdx.y * length;
  const int64_t end = begin + length < rows ? begin + length : rows;
  ColumnSums<kSums> sums;
  if (column < columns) {
    for (int64_t row = begin + threadIdx.y; row < end; row += kRowsOfBlock) {
      term(row, column, &sums);
    }
  }
  shared[threadIdx.y * kColumnsOfBlock + threadIdx.x] = sums;
  for (unsigned half = kRowsOfBlock / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.y >= half) continue;
    ColumnSums<kSums>& low = shared[threadIdx.y * kColumnsOfBlock + threadIdx.x];
    const ColumnSums<kSums>& high = shared[(threadIdx.y + half) * kColumnsOfBlock + threadIdx.x];
    for (int i = 0; i < kSums; ++i) low.values[i] += high.values[i];
  }
  if (threadIdx.y != 0 || column >= columns) return;
  if (gridDim.y == 1) {
    finish(column, shared[threadIdx.x]);
  } else {
    pieces[blockIdx.y * columns + column] = shared[threadIdx.x];
  }
}

template <int kSums, typename Finish>
__global__ void AddPiecesKernel(int64_t count, int64_t columns, const ColumnSums<kSums>* pieces,
                                Finish finish) {
  const int64_t column = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (column >= columns) return;
  ColumnSums<kSums> sums;
  for (int64_t piece = 0; piece < count; ++piece) {
    for (int i = 0; i < kSums; ++i) sums.values[i] += pieces[piece * columns + column].values[i];
  }
  finish(column, sums);
}

// Calls term(row, column, &sums) once for each element, which adds to sums->values, then
// finish(column, sums) with the totals. Few rows take one launch, others two. Uses the scratch
// memory.
template <int kSums, typename Term, typename Finish>
void SumColumns(Context* context, int64_t rows, int64_t columns, Term term, Finish finish) {
  auto* const pieces = context->scratch<ColumnSums<kSums>>();
  const int64_t count = ColumnPieces(rows);
  const dim3 grid(static_cast<unsigned>((columns + kColumnsOfBlock - 1) / kColumnsOfBlock),
                  static_cast<unsigned>(count));
  context->Note(
      Launch(SumPiecesKernel<kSums, Term, Finish>, grid, dim3(kColumnsOfBlock, kRowsOfBlock),
             kColumnsOfBlock * kRowsOfBlock * sizeof(ColumnSums<kSums>), context->stream(), rows,
             columns, term, pieces, finish),
      "cudaLaunchKernel");
  if (count == 1) return;
  const unsigned threads = ThreadsFor(columns);
  context->Note(Launch(AddPiecesKernel<kSums, Finish>,
                       static_cast<unsigned>((columns + threads - 1) / threads), threads, 0,
                       context->stream(), count, columns, pieces, finish),
                "cudaLaunchKernel");
}

}  // namespace cairn::nn::cuda

#endif  // CAIRN_NN_CUDA_LOOPS_H_
