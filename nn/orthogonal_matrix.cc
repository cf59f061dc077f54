#include "nn/orthogonal_matrix.h"

#include <algorithm>
#include <cmath>

namespace cairn::nn {
namespace {

double Dot(const double* a, const double* b, int64_t length) {
  double sum = 0;
  for (int64_t i = 0; i < length; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

// Gram-Schmidt on `count` vectors of `length` elements, each stored contiguously. The second sweep
// removes the rounding error of the first ("twice is enough", Kahan and Parlett).
std::vector<double> OrthogonalMatrix(int64_t rows, int64_t columns, std::vector<double> draws) {
  const int64_t length = std::max(rows, columns);
  const int64_t count = std::min(rows, columns);
  for (int64_t v = 0; v < count; ++v) {
    double* vector = draws.data() + v * length;
    for (int sweep = 0; sweep < 2; ++sweep) {
      for (int64_t u = 0; u < v; ++u) {
        const double* done = draws.data() + u * length;
        const double projection = Dot(vector, done, length);
        for (int64_t i = 0; i < length; ++i) vector[i] -= projection * done[i];
      }
    }
    const double norm = std::sqrt(Dot(vector, vector, length));
    for (int64_t i = 0; i < length; ++i) vector[i] /= norm;
  }
  if (rows < columns) return draws;
  std::vector<double> transposed(draws.size());
  for (int64_t v = 0; v < count; ++v) {
    for (int64_t i = 0; i < length; ++i) transposed[i * count + v] = draws[v * length + i];
  }
  return transposed;
}

}  // namespace cairn::nn
