#include "nn/cuda/loops.h"
#include "nn/cuda/orthogonal_penalty.h"
#include "nn/cuda/product.h"

namespace cairn::nn::cuda {
namespace {

// The vectors whose cosines are penalized: the rows or columns of a matrix.
struct Vectors {
  Vectors(const Regularizer& regularizer, int64_t count)
      : columns(regularizer.columns),
        of_columns(regularizer.of_columns),
        size(of_columns ? columns : count / columns),
        length(count / size),
        per_pair(2 * regularizer.orthogonal / (static_cast<double>(size) * (size - 1))) {}

  // The index of element k of vector i in the matrix.
  __device__ int64_t At(int64_t i, int64_t k) const {
    return of_columns ? k * columns + i : i * columns + k;
  }

  int64_t columns;
  bool of_columns;
  int64_t size;
  int64_t length;
  // The factor of a pair's |cosine|.
  double per_pair;
};

// Arrays in the scratch memory.
struct Scratch {
  Scratch(Context* context, const Vectors& v)
      : norms(context->scratch<double>()),
        cosine_sums(norms + v.size),
        units(reinterpret_cast<float*>(cosine_sums + v.size)),
        unit_sums(units + v.size * v.length),
        cosines(unit_sums + v.size * v.length) {}

  // By vector: its norm, and the sum of its |cosine| with others.
  double* norms;
  double* cosine_sums;
  // Vectors divided by their norms, and sums of them.
  float* units;
  float* unit_sums;
  float* cosines;
};

// Computes the norms, of at least 1e-7 as in Keras, the units and all cosines.
void Measure(Context* context, const Vectors& vectors, const Scratch& scratch,
             const float* values) {
  ForEachRow(context, vectors.size, vectors.length,
             [=] __device__(int64_t i, const RowBlock& block) {
               double sum = 0;
               for (int64_t k = block.first(); k < vectors.length; k += block.step()) {
                 const double value = values[vectors.At(i, k)];
                 sum += value * value;
               }
               const double norm = fmax(sqrt(block.Sum(sum)), 1e-7);
               for (int64_t k = block.first(); k < vectors.length; k += block.step()) {
                 scratch.units[i * vectors.length + k] =
                     static_cast<float>(values[vectors.At(i, k)] / norm);
               }
               if (block.first() == 0) scratch.norms[i] = norm;
             });
  Multiply(context,
           {.rows = vectors.size,
            .columns = vectors.size,
            .inner = vectors.length,
            .b_transposed = true,
            .is_exact = true},
           scratch.units, scratch.units, scratch.cosines);
}

}  // namespace

size_t OrthogonalScratchBytes(const Regularizer& regularizer, int64_t count) {
  const Vectors vectors(regularizer, count);
  return 2 * vectors.size * sizeof(double) +
         (2 * count + vectors.size * vectors.size) * sizeof(float);
}

void OrthogonalPenalty(Context* context, const Regularizer& regularizer, int64_t count,
                       const float* values, double* penalty) {
  const Vectors vectors(regularizer, count);
  const Scratch scratch(context, vectors);
  Measure(context, vectors, scratch, values);
  ForEachRow(context, vectors.size, vectors.size, [=] __device__(int64_t i, const RowBlock& block) {
    double sum = 0;
    for (int64_t j = block.first(); j < i; j += block.step()) {
      sum += fabsf(scratch.cosines[i * vectors.size + j]);
    }
    sum = block.Sum(sum);
    if (block.first() == 0) scratch.cosine_sums[i] = sum;
  });
  ForEachRow(context, 1, vectors.size, [=] __device__(int64_t, const RowBlock& block) {
    double sum = 0;
    for (int64_t i = block.first(); i < vectors.size; i += block.step()) {
      sum += scratch.cosine_sums[i];
    }
    sum = block.Sum(sum);
    if (block.first() == 0) *penalty = vectors.per_pair * sum;
  });
}

// The derivative of |cosine(x, y)| by x is sign(cosine) * (y / |y| - cosine * x / |x|) / |x|.
void AddOrthogonalGradient(Context* context, const Regularizer& regularizer, int64_t count,
                           const float* values, float* gradient) {
  const Vectors vectors(regularizer, count);
  const Scratch scratch(context, vectors);
  Measure(context, vectors, scratch, values);
  // Turns cosines into their signs. A vector is no pair with itself.
  ForEachRow(context, vectors.size, vectors.size, [=] __device__(int64_t i, const RowBlock& block) {
    double sum = 0;
    for (int64_t j = block.first(); j < vectors.size; j += block.step()) {
      float& cosine = scratch.cosines[i * vectors.size + j];
      if (j == i) cosine = 0;
      sum += fabsf(cosine);
      cosine = static_cast<float>((cosine > 0) - (cosine < 0));
    }
    sum = block.Sum(sum);
    if (block.first() == 0) scratch.cosine_sums[i] = sum;
  });
  Multiply(
      context,
      {.rows = vectors.size, .columns = vectors.length, .inner = vectors.size, .is_exact = true},
      scratch.cosines, scratch.units, scratch.unit_sums);
  const Divisor length = vectors.length;
  ForEach(context, count, [=] __device__(int64_t element) {
    const int64_t i = element / length;
    const double derivative =
        scratch.unit_sums[element] - scratch.cosine_sums[i] * scratch.units[element];
    gradient[vectors.At(i, element - i * length)] +=
        static_cast<float>(vectors.per_pair * derivative / scratch.norms[i]);
  });
}

}  // namespace cairn::nn::cuda
