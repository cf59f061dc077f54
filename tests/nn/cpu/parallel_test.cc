#include "nn/cpu/parallel.h"

#include <omp.h>

#include <vector>

#include "gtest/gtest.h"

namespace cairn::nn {
namespace {

TEST(ParallelTest, EachPieceOfWorkIsDoneOnce) {
  for (int threads : {1, 3}) {
    omp_set_num_threads(threads);
    std::vector<int> done(1000);
    RunInParallel(1000, [&](int64_t i) { ++done[i]; });
    EXPECT_EQ(done, std::vector<int>(1000, 1));
  }
}

TEST(ParallelTest, PiecesCoverAllRowsWhateverTheNumberOfThreads) {
  for (int64_t rows : {1, 5, 1000, 1000003}) {
    omp_set_num_threads(1);
    const RowPieces alone(rows, 64);
    omp_set_num_threads(3);
    const RowPieces pieces(rows, 64);
    EXPECT_EQ(pieces.count, alone.count);
    std::vector<char> covered(rows);
    pieces.Run([&](int64_t begin, int64_t end) {
      ASSERT_LT(begin, end);
      for (int64_t row = begin; row < end; ++row) ++covered[row];
    });
    EXPECT_EQ(covered, std::vector<char>(rows, 1));
  }
}

TEST(ParallelTest, LittleWorkIsNotCut) { EXPECT_EQ(RowPieces(100, 100).count, 1); }

}  // namespace
}  // namespace cairn::nn
