#include "nn/cuda/activation_formulas.h"
#include "nn/cuda/activation_function.h"
#include "nn/cuda/loops.h"

namespace cairn::nn::cuda {
namespace {

using Kind = Activation::Kind;

void Softmax(Context* context, bool is_log, int64_t rows, int64_t width, const float* x,
             const float* bias, float* sum, float* y) {
  ForEachRow(context, rows, width, [=] __device__(int64_t row, const RowBlock& block) {
    const float* from = x + row * width;
    float* const to = y + row * width;
    if (bias != nullptr || sum != nullptr) {
      // Each thread reads again only what it has written.
      float* const kept = sum != nullptr ? sum + row * width : to;
      for (int64_t i = block.first(); i < width; i += block.step()) {
        kept[i] = bias != nullptr ? from[i] + bias[i] : from[i];
      }
      from = kept;
    }
    double maximum = -std::numeric_limits<double>::infinity();
    for (int64_t i = block.first(); i < width; i += block.step()) {
      maximum = fmax(maximum, static_cast<double>(from[i]));
    }
    const float highest = static_cast<float>(block.Maximum(maximum));
    double total = 0;
    for (int64_t i = block.first(); i < width; i += block.step()) total += expf(from[i] - highest);
    total = block.Sum(total);
    const float log_sum = static_cast<float>(log(total));
    const float scale = static_cast<float>(1 / total);
    for (int64_t i = block.first(); i < width; i += block.step()) {
      to[i] = is_log ? from[i] - highest - log_sum : expf(from[i] - highest) * scale;
    }
  });
}

// Of softmax: y * (g - sum of g y). Of its logarithm: g - exp(y) * sum of g.
void SoftmaxGradient(Context* context, bool is_log, int64_t rows, int64_t width, const float* y,
                     const float* gradient, float* to) {
  ForEachRow(context, rows, width, [=] __device__(int64_t row, const RowBlock& block) {
    const int64_t begin = row * width;
    double inner = 0;
    for (int64_t i = block.first(); i < width; i += block.step()) {
      const double g = gradient[begin + i];
      inner += is_log ? g : g * y[begin + i];
    }
    const float sum = static_cast<float>(block.Sum(inner));
    for (int64_t i = begin + block.first(); i < begin + width; i += block.step()) {
      to[i] = is_log ? gradient[i] - expf(y[i]) * sum : y[i] * (gradient[i] - sum);
    }
  });
}

}  // namespace

void ApplyActivation(Context* context, const Activation& activation, int64_t rows, int64_t width,
                     const float* x, const float* bias, float* sum, float* y) {
  if (activation.is_row_wise()) {
    return Softmax(context, activation.kind == Kind::kLogSoftmax, rows, width, x, bias, sum, y);
  }
  MapColumns<1, 2>(context, rows, width, {{x}, {y, sum}},
                   [=] __device__(int64_t column, const float* from, float* to) {
                     const float value = bias == nullptr ? from[0] : from[0] + bias[column];
                     to[0] = Apply(activation, value);
                     to[1] = value;
                   });
}

void MultiplyByDerivative(Context* context, const Activation& activation, int64_t rows,
                          int64_t width, const float* x, const float* y, const float* gradient,
                          float* to, float* sums) {
  const float* const at = activation.differentiates_from_output() ? y : x;
  if (activation.is_row_wise()) {
    SoftmaxGradient(context, activation.kind == Kind::kLogSoftmax, rows, width, y, gradient, to);
    if (sums != nullptr) {
      // The derivative of the linear activation is 1.
      MultiplyByDerivative(context, Activation(), rows, width, to, to, to, to, sums);
    }
  } else if (sums == nullptr) {
    MapColumns<2, 1>(context, rows, width, {{gradient, at}, {to}},
                     [=] __device__(int64_t, const float* from, float* product) {
                       product[0] = from[0] * Derivative(activation, from[1]);
                     });
  } else {
    SumColumns<1>(
        context, rows, width,
        [=] __device__(int64_t row, int64_t column, ColumnSums<1> * terms) {
          const int64_t i = row * width + column;
          const float product = gradient[i] * Derivative(activation, at[i]);
          to[i] = product;
          terms->values[0] += product;
        },
        [=] __device__(int64_t column, const ColumnSums<1>& totals) {
          sums[column] = static_cast<float>(totals.values[0]);
        });
  }
}

}  // namespace cairn::nn::cuda
