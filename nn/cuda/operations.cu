#include "nn/cuda/loops.h"
#include "nn/cuda/operations.h"

namespace cairn::nn::cuda {

void Add(Context* context, int64_t count, const float* addend, float* sum) {
  MapColumns<2, 1>(
      context, 1, count, {{addend, sum}, {sum}},
      [=] __device__(int64_t, const float* from, float* to) { to[0] = from[1] + from[0]; });
}

void Rescale(Context* context, int64_t count, float multiplier, float divisor, float* values) {
  MapColumns<1, 1>(context, 1, count, {{values}, {values}},
                   [=] __device__(int64_t, const float* from, float* to) {
                     to[0] = from[0] * multiplier / divisor;
                   });
}

void Penalty(Context* context, double l1, double l2, int64_t count, const float* values,
             double* penalty) {
  constexpr int64_t kPieceMin = 4096;
  const int64_t pieces = std::clamp<int64_t>(
      count / kPieceMin, 1, static_cast<int64_t>(kPenaltyScratchBytes / sizeof(double)));
  const int64_t length = (count + pieces - 1) / pieces;
  auto* const sums = context->scratch<double>();
  ForEachRow(context, pieces, length, [=] __device__(int64_t piece, const RowBlock& block) {
    const int64_t end = (piece + 1) * length < count ? (piece + 1) * length : count;
    double sum = 0;
    for (int64_t i = piece * length + block.first(); i < end; i += block.step()) {
      const double value = values[i];
      sum += l1 * fabs(value) + l2 * value * value;
    }
    sum = block.Sum(sum);
    if (block.first() == 0) sums[piece] = sum;
  });
  ForEachRow(context, 1, pieces, [=] __device__(int64_t, const RowBlock& block) {
    double sum = 0;
    for (int64_t piece = block.first(); piece < pieces; piece += block.step()) sum += sums[piece];
    sum = block.Sum(sum);
    if (block.first() == 0) *penalty = sum;
  });
}

void AddPenaltyGradient(Context* context, double l1, double l2, int64_t count, const float* values,
                        float* gradient) {
  const auto factor = static_cast<float>(l1);
  const auto twice = static_cast<float>(2 * l2);
  MapColumns<2, 1>(context, 1, count, {{values, gradient}, {gradient}},
                   [=] __device__(int64_t, const float* from, float* to) {
                     const auto sign = static_cast<float>((from[0] > 0) - (from[0] < 0));
                     to[0] = from[1] + factor * sign + twice * from[0];
                   });
}

}  // namespace cairn::nn::cuda
