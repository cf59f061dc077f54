#ifndef CAIRN_NN_CPU_PARALLEL_H_
#define CAIRN_NN_CPU_PARALLEL_H_

#include <cstdint>

#include "absl/functional/function_ref.h"

namespace cairn::nn {

// Calls work(0) ... work(count - 1) on as many threads as the calling thread may use
// (CpuDevice::UseThreads), and returns when all are done. Each call must write to memory of its own
// and must not throw.
void RunInParallel(int64_t count, absl::FunctionRef<void(int64_t index)> work);

// Partitions rows into pieces, each large enough for a thread. The partition depends on the size
// only, so sums per piece, added in order, do not depend on the number of threads.
struct RowPieces {
  // `width` is the number of floats per row.
  RowPieces(int64_t rows, int64_t width);

  int64_t begin(int64_t piece) const { return rows * piece / count; }
  int64_t end(int64_t piece) const { return rows * (piece + 1) / count; }
  // Calls work(begin, end) for each piece, like RunInParallel.
  void Run(absl::FunctionRef<void(int64_t begin, int64_t end)> work) const;

  int64_t rows = 0;
  int64_t count = 1;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_PARALLEL_H_
