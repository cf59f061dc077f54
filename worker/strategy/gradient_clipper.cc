#include "worker/strategy/gradient_clipper.h"

#include "common/check.h"

namespace cairn::worker {

bool GradientClipper::IsGradient(int variable) const {
  return model_.variables()[variable].update == nn::VariableSpec::Update::kOptimized;
}

double GradientClipper::SumOfSquares(int variable) const {
  return nn::SumOfSquares(executor_.gradient(variable));
}

float GradientClipper::ScaleOf(int variable) const {
  CAIRN_CHECK(!needs_all());
  if (!clip_.needs_norm() || !IsGradient(variable)) return 1;
  return clip_.NormScale(SumOfSquares(variable));
}

std::vector<float> GradientClipper::ScalesOf(absl::Span<const int> variables) const {
  std::vector<float> scales;
  if (!needs_all()) {
    for (const int variable : variables) scales.push_back(ScaleOf(variable));
    return scales;
  }
  double sum = 0;
  for (const int variable : variables) {
    if (IsGradient(variable)) sum += SumOfSquares(variable);
  }
  for (const int variable : variables) {
    scales.push_back(IsGradient(variable) ? clip_.NormScale(sum) : 1.0f);
  }
  return scales;
}

}  // namespace cairn::worker
