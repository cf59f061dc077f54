#include "nn/cpu/parallel.h"

#include <omp.h>

#include <algorithm>

namespace cairn::nn {

void RunInParallel(int64_t count, absl::FunctionRef<void(int64_t index)> work) {
#if defined(CAIRN_THREAD_SANITIZER)
  // Thread sanitizer does not see OpenMP's synchronization.
  constexpr bool kMayFork = false;
#else
  constexpr bool kMayFork = true;
#endif
#pragma omp parallel for schedule(static) if (kMayFork && count > 1 && omp_get_max_threads() > 1)
  for (int64_t i = 0; i < count; ++i) work(i);
}

RowPieces::RowPieces(int64_t rows, int64_t width) : rows(rows) {
  // Waking a thread takes microseconds, so pieces must be worth that.
  constexpr int64_t kPieceFloats = 32768;
  constexpr int64_t kPiecesMax = 32;
  count = std::clamp<int64_t>(rows * width / kPieceFloats, 1, std::min(kPiecesMax, rows));
}

void RowPieces::Run(absl::FunctionRef<void(int64_t begin, int64_t end)> work) const {
  RunInParallel(count, [&](int64_t piece) { work(begin(piece), end(piece)); });
}

}  // namespace cairn::nn
