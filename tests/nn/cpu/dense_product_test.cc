#include "nn/cpu/dense_product.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace cairn::nn {
namespace {

std::vector<float> WholeNumbers(int64_t count, int64_t step, int64_t modulus) {
  std::vector<float> numbers(count);
  for (int64_t i = 0; i < count; ++i) {
    numbers[i] = static_cast<float>(i * step % modulus - modulus / 2);
  }
  return numbers;
}

// The product by definition, in double.
double Element(const DenseProduct::Options& o, const std::vector<float>& a,
               const std::vector<float>& b, const std::vector<float>& bias, int64_t row,
               int64_t column) {
  double sum = o.adds_bias ? bias[column] : 0;
  for (int64_t i = 0; i < o.inner; ++i) {
    sum += static_cast<double>(a[o.a_transposed ? i * o.rows + row : row * o.inner + i]) *
           b[o.b_transposed ? column * o.inner + i : i * o.columns + column];
  }
  return o.applies_relu ? std::max(sum, 0.0) : sum;
}

// Small whole numbers, so that sums are exact in any order.
void ExpectProduct(const DenseProduct::Options& o, const DnnlContext& context) {
  const std::vector<float> a = WholeNumbers(o.rows * o.inner, 7, 13);
  const std::vector<float> b = WholeNumbers(o.inner * o.columns, 5, 11);
  const std::vector<float> bias = WholeNumbers(o.columns, 3, 17);
  std::vector<float> c(o.rows * o.columns, -1);
  DenseProduct(o, &context).Run(a.data(), b.data(), o.adds_bias ? bias.data() : nullptr, c.data());
  for (int64_t row = 0; row < o.rows; ++row) {
    for (int64_t column = 0; column < o.columns; ++column) {
      ASSERT_EQ(c[row * o.columns + column], Element(o, a, b, bias, row, column))
          << o.rows << "x" << o.columns << "x" << o.inner << " at " << row << ", " << column;
    }
  }
}

// Sizes on both sides of the threshold for oneDNN, and all four ways to store the operands.
TEST(DenseProductTest, EqualsThePlainLoops) {
  const DnnlContext context;
  for (const auto& [rows, columns, inner] :
       {std::array<int64_t, 3>{1, 1, 1}, {2, 3, 4}, {17, 33, 65}, {128, 10, 256}, {1, 200, 100}}) {
    for (int options = 0; options < 16; ++options) {
      ExpectProduct({.rows = rows,
                     .columns = columns,
                     .inner = inner,
                     .a_transposed = (options & 1) != 0,
                     .b_transposed = (options & 2) != 0,
                     .adds_bias = (options & 4) != 0,
                     .applies_relu = (options & 8) != 0},
                    context);
    }
  }
}

}  // namespace
}  // namespace cairn::nn
