#include "nn/orthogonal_matrix.h"

#include <gtest/gtest.h>

#include <cmath>

#include "common/random.h"

namespace cairn::nn {
namespace {

std::vector<double> Draws(int64_t count) {
  std::vector<double> draws(count);
  for (int64_t i = 0; i < count; ++i) draws[i] = RandomUniform(7, i) - 0.5;
  return draws;
}

TEST(OrthogonalMatrixTest, ATallMatrixHasOrthonormalColumns) {
  const int64_t rows = 40, columns = 9;
  const std::vector<double> q = OrthogonalMatrix(rows, columns, Draws(rows * columns));
  for (int64_t a = 0; a < columns; ++a) {
    for (int64_t b = 0; b < columns; ++b) {
      double dot = 0;
      for (int64_t r = 0; r < rows; ++r) dot += q[r * columns + a] * q[r * columns + b];
      EXPECT_NEAR(dot, a == b ? 1 : 0, 1e-12);
    }
  }
}

TEST(OrthogonalMatrixTest, AWideMatrixHasOrthonormalRows) {
  const int64_t rows = 5, columns = 33;
  const std::vector<double> q = OrthogonalMatrix(rows, columns, Draws(rows * columns));
  for (int64_t a = 0; a < rows; ++a) {
    for (int64_t b = 0; b < rows; ++b) {
      double dot = 0;
      for (int64_t c = 0; c < columns; ++c) dot += q[a * columns + c] * q[b * columns + c];
      EXPECT_NEAR(dot, a == b ? 1 : 0, 1e-12);
    }
  }
}

TEST(OrthogonalMatrixTest, KeepsTheDirectionOfTheFirstVector) {
  const std::vector<double> q = OrthogonalMatrix(2, 2, {3, 4, 1, 0});
  EXPECT_NEAR(q[0], 0.6, 1e-15);  // The first column is (3, 4) / 5.
  EXPECT_NEAR(q[2], 0.8, 1e-15);
  EXPECT_NEAR(q[1], 0.8, 1e-15);  // The second one is (1, 0) minus its projection on the first.
  EXPECT_NEAR(q[3], -0.6, 1e-15);
}

}  // namespace
}  // namespace cairn::nn
