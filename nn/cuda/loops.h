#ifndef CAIRN_NN_CUDA_LOOPS_H_
#define CAIRN_NN_CUDA_LOOPS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "nn/cuda/context.h"
#include "nn/cuda/divisor.h"
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

// Adjacent numbers, which are loaded and stored at once. The address must be aligned to their size.
template <int kLanes, typename T = float>
struct alignas(kLanes * sizeof(T)) Lanes {
  T values[kLanes];
};

template <int kLanes, typename T>
__device__ Lanes<kLanes, T> Load(const T* from) {
  return *reinterpret_cast<const Lanes<kLanes, T>*>(from);
}
template <int kLanes, typename T>
__device__ void Store(const Lanes<kLanes, T>& lanes, T* to) {
  *reinterpret_cast<Lanes<kLanes, T>*>(to) = lanes;
}
// True if four numbers can be loaded at once.
inline bool IsAligned(const float* values) {
  return reinterpret_cast<uintptr_t>(values) % sizeof(Lanes<4>) == 0;
}

// The arrays that MapColumns reads and writes. A null output is not needed.
template <int kInputs, int kOutputs>
struct Arrays {
  const float* inputs[kInputs];
  float* outputs[kOutputs];
};

template <int kInputs, int kOutputs, typename Body>
__global__ void MapColumnsKernel(int64_t count, Divisor columns, bool is_aligned,
                                 Arrays<kInputs, kOutputs> arrays, Body body) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x * 4;
  for (int64_t i = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * 4; i < count; i += step) {
    const bool is_whole = is_aligned && i + 4 <= count;
    Lanes<4> inputs[kInputs] = {};
    Lanes<4> outputs[kOutputs];
    CAIRN_UNROLL
    for (int a = 0; a < kInputs; ++a) {
      if (is_whole) {
        inputs[a] = Load<4>(arrays.inputs[a] + i);
        continue;
      }
      CAIRN_UNROLL
      for (int lane = 0; lane < 4; ++lane) {
        if (i + lane < count) inputs[a].values[lane] = arrays.inputs[a][i + lane];
      }
    }
    int64_t column = i % columns;
    CAIRN_UNROLL
    for (int lane = 0; lane < 4; ++lane) {
      float from[kInputs];
      float to[kOutputs] = {};
      for (int a = 0; a < kInputs; ++a) from[a] = inputs[a].values[lane];
      body(column, from, to);
      for (int a = 0; a < kOutputs; ++a) outputs[a].values[lane] = to[a];
      if (++column == columns) column = 0;
    }
    CAIRN_UNROLL
    for (int a = 0; a < kOutputs; ++a) {
      if (arrays.outputs[a] == nullptr) continue;
      if (is_whole) {
        Store(outputs[a], arrays.outputs[a] + i);
        continue;
      }
      CAIRN_UNROLL
      for (int lane = 0; lane < 4; ++lane) {
        if (i + lane < count) arrays.outputs[a][i + lane] = outputs[a].values[lane];
      }
    }
  }
}

// Calls body(column, from, to) for each element of matrices with `rows` and `columns`: `from` has
// the element of each input, and the body writes that of each output to `to`. An output may be an
// input. The body may be called beyond the last element, with zeros. Elements are loaded and stored
// four at a time.
template <int kInputs, int kOutputs, typename Body>
void MapColumns(Context* context, int64_t rows, int64_t columns,
                const Arrays<kInputs, kOutputs>& arrays, Body body) {
  const int64_t count = rows * columns;
  if (count == 0) return;
  const bool is_aligned = std::all_of(arrays.inputs, arrays.inputs + kInputs, IsAligned) &&
                          std::all_of(arrays.outputs, arrays.outputs + kOutputs, IsAligned);
  const int64_t runs = (count + 3) / 4;
  const unsigned threads = ThreadsFor(runs);
  const int64_t blocks = std::min((runs + threads - 1) / threads, kBlocksMax);
  context->Note(
      Launch(MapColumnsKernel<kInputs, kOutputs, Body>, static_cast<unsigned>(blocks), threads, 0,
             context->stream(), count, Divisor(columns), is_aligned, arrays, body),
      "cudaLaunchKernel");
}

// The threads that compute one row together: one thread, or those of a block. Each computes the
// elements first(), first() + step(), ...
class RowBlock {
 public:
  // One thread.
  __device__ RowBlock() : first_(0), step_(1), shared_(nullptr) {}
  // The threads of a block.
  __device__ explicit RowBlock(double* shared)
      : first_(threadIdx.x), step_(blockDim.x), shared_(shared) {}

  __device__ int64_t first() const { return first_; }
  __device__ int64_t step() const { return step_; }

  // The sum or maximum of all threads' values, for all threads. All must call it.
  __device__ double Sum(double value) const {
    return Combine(value, [](double a, double b) { return a + b; });
  }
  __device__ double Maximum(double value) const {
    return Combine(value, [](double a, double b) { return a < b ? b : a; });
  }

 private:
  // In two steps, as barriers cost more than additions: kGroups threads combine the values of a
  // group each, then all threads combine those of the groups.
  template <typename Function>
  __device__ double Combine(double value, Function function) const {
    constexpr unsigned kGroups = 16;
    if (shared_ == nullptr) return value;
    shared_[threadIdx.x] = value;
    __syncthreads();
    if (threadIdx.x < kGroups) {
      for (unsigned i = threadIdx.x + kGroups; i < blockDim.x; i += kGroups) {
        value = function(value, shared_[i]);
      }
      shared_[threadIdx.x] = value;
    }
    __syncthreads();
    double result = shared_[0];
    for (unsigned i = 1; i < kGroups; ++i) result = function(result, shared_[i]);
    // The next call overwrites the memory.
    __syncthreads();
    return result;
  }

  const int64_t first_;
  const int64_t step_;
  double* const shared_;
};

template <typename Body>
__global__ void ForEachRowKernel(int64_t rows, bool is_narrow, Body body) {
  if (is_narrow) {
    const int64_t step = int64_t{gridDim.x} * blockDim.x;
    for (int64_t row = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; row < rows; row += step) {
      body(row, RowBlock());
    }
    return;
  }
  const RowBlock block(SharedMemory<double>());
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) body(row, block);
}

// Calls body(row, block) for each row, with the threads of a block together, or with one thread if
// the rows are narrow. `width` is the number of elements of a row.
template <typename Body>
void ForEachRow(Context* context, int64_t rows, int64_t width, Body body) {
  constexpr int64_t kNarrow = 16;
  if (rows == 0) return;
  const bool is_narrow = width <= kNarrow;
  const unsigned threads = ThreadsFor(is_narrow ? rows : width);
  const int64_t blocks = std::min(is_narrow ? (rows + threads - 1) / threads : rows, kBlocksMax);
  context->Note(
      Launch(ForEachRowKernel<Body>, static_cast<unsigned>(blocks), threads,
             is_narrow ? 0 : threads * sizeof(double), context->stream(), rows, is_narrow, body),
      "cudaLaunchKernel");
}

// Sums over the rows of a matrix, by column. A block sums a piece of the rows of some columns. If
// there are several pieces, a second kernel adds them.
template <int kSums>
struct ColumnSums {
  double values[kSums] = {};
};

// The shape of a block: a warp reads up to 32 adjacent columns, and several rows of narrow
// matrices.
inline dim3 ColumnBlock(int64_t columns) {
  unsigned width = 4;
  while (width < 32 && width < columns) width *= 2;
  return dim3(width, kThreads / width);
}

inline int64_t ColumnPieces(int64_t rows, int64_t columns) {
  // Enough blocks for all processors of the largest GPUs. A constant, as the order of sums must not
  // depend on the GPU.
  constexpr int64_t kBlocks = 1024;
  const dim3 block = ColumnBlock(columns);
  const int64_t blocks = (columns + block.x - 1) / block.x;
  return std::clamp<int64_t>(rows / (8 * block.y), 1, std::max<int64_t>(kBlocks / blocks, 1));
}

// Scratch memory that SumColumns needs.
template <int kSums>
size_t ColumnScratchBytes(int64_t rows, int64_t columns) {
  return ColumnPieces(rows, columns) * columns * sizeof(ColumnSums<kSums>);
}

// Adds the sums of the threads of a block that have the same column. The total is that of the
// thread with threadIdx.y == 0. All must call it.
template <int kSums>
__device__ void AddThreads(ColumnSums<kSums>* sums) {
  auto* const shared = SharedMemory<ColumnSums<kSums>>();
  shared[threadIdx.y * blockDim.x + threadIdx.x] = *sums;
  for (unsigned half = blockDim.y / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.y >= half) continue;
    ColumnSums<kSums>& low = shared[threadIdx.y * blockDim.x + threadIdx.x];
    const ColumnSums<kSums>& high = shared[(threadIdx.y + half) * blockDim.x + threadIdx.x];
    for (int i = 0; i < kSums; ++i) low.values[i] += high.values[i];
  }
  if (threadIdx.y == 0) *sums = shared[threadIdx.x];
}

template <int kSums, typename Term, typename Finish>
__global__ void SumPiecesKernel(int64_t rows, int64_t columns, Term term, Finish finish,
                                ColumnSums<kSums>* pieces) {
  const int64_t column = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int64_t length = (rows + gridDim.y - 1) / gridDim.y;
  const int64_t begin = blockIdx.y * length;
  const int64_t end = begin + length < rows ? begin + length : rows;
  const int64_t step = blockDim.y;
  ColumnSums<kSums> sums;
  if (column < columns) {
    int64_t row = begin + threadIdx.y;
    if (kSums <= 2) {
      // Several loads at a time.
      for (; row + 3 * step < end; row += 4 * step) {
        term(row, column, &sums);
        term(row + step, column, &sums);
        term(row + 2 * step, column, &sums);
        term(row + 3 * step, column, &sums);
      }
    }
    for (; row < end; row += step) term(row, column, &sums);
  }
  AddThreads(&sums);
  if (threadIdx.y != 0 || column >= columns) return;
  if (gridDim.y == 1) {
    finish(column, sums);
  } else {
    pieces[blockIdx.y * columns + column] = sums;
  }
}

template <int kSums, typename Finish>
__global__ void AddPiecesKernel(int64_t count, int64_t columns, const ColumnSums<kSums>* pieces,
                                Finish finish) {
  const int64_t column = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  ColumnSums<kSums> sums;
  if (column < columns) {
    for (int64_t piece = threadIdx.y; piece < count; piece += blockDim.y) {
      for (int i = 0; i < kSums; ++i) sums.values[i] += pieces[piece * columns + column].values[i];
    }
  }
  AddThreads(&sums);
  if (threadIdx.y == 0 && column < columns) finish(column, sums);
}

// Calls term(row, column, &sums) once for each element, which adds to sums->values, then
// finish(column, sums) with the totals. Few rows take one launch, others two. Uses the scratch
// memory.
template <int kSums, typename Term, typename Finish>
void SumColumns(Context* context, int64_t rows, int64_t columns, Term term, Finish finish) {
  // What a block may have on every GPU.
  static_assert(kThreads * sizeof(ColumnSums<kSums>) <= 48 << 10);
  auto* const pieces = context->scratch<ColumnSums<kSums>>();
  const int64_t count = ColumnPieces(rows, columns);
  const dim3 block = ColumnBlock(columns);
  const dim3 grid(static_cast<unsigned>((columns + block.x - 1) / block.x),
                  static_cast<unsigned>(count));
  context->Note(Launch(SumPiecesKernel<kSums, Term, Finish>, grid, block,
                       kThreads * sizeof(ColumnSums<kSums>), context->stream(), rows, columns, term,
                       finish, pieces),
                "cudaLaunchKernel");
  if (count == 1) return;
  const dim3 few_columns(8, kThreads / 8);
  context->Note(Launch(AddPiecesKernel<kSums, Finish>,
                       static_cast<unsigned>((columns + few_columns.x - 1) / few_columns.x),
                       few_columns, kThreads * sizeof(ColumnSums<kSums>), context->stream(), count,
                       columns, pieces, finish),
                "cudaLaunchKernel");
}

}  // namespace cairn::nn::cuda

#endif  // CAIRN_NN_CUDA_LOOPS_H_
