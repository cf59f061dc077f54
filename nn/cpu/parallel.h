#ifndef CAIRN_NN_CPU_PARALLEL_H_
#define CAIRN_NN_CPU_PARALLEL_H_

#include <cstdint>

#include "absl/functional/function_ref.h"

namespace cairn::nn {

// Calls work(0) to work(count - 1), on as many threads as the calling one may use
// (CpuDevice::UseThreads). Each call must write to places of its own. Nothing may throw.
void RunInParallel(int64_t count, absl::FunctionRef<void(int64_t index)> work);

// Rows cut into pieces, each worth a thread's while. The cut follows from the size alone, so sums
// by piece, added in order, do not depend on the number of threads.
struct RowPieces {
  // `width`: the floats of a row.
  RowPieces(int64_t rows, int64_t width);

  int64_t begin(int64_t piece) const { return rows * piece / count; }
  int64_t end(int64_t piece) const { return rows * (piece + 1) / count; }
  // Calls work(begin, end) for each piece, as RunInParallel.
  void Run(absl::FunctionRef<void(int64_t begin, int64_t end)> work) const;

  int64_t rows = 0;
  int64_t count = 1;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_PARALLEL_H_
