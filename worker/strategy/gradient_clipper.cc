#include "worker/strategy/gradient_clipper.h"

#include "common/check.h"

namespace cairn::worker {

bool GradientClipper::IsGradient(int variable) const {
  return model_.variables()[variable].update == nn::VariableSpec::Update::kOptimized;
}

float GradientClipper::ScaleOf(int variable) const {
  CAIRN_CHECK(!needs_all_gradients());
  return ScalesOf(absl::MakeConstSpan(&variable, 1)).front();
}

std::vector<float> GradientClipper::ScalesOf(absl::Span<const int> variables) const {
  if (!scales()) return std::vector<float>(variables.size(), 1.0f);
  std::vector<double> sums(variables.size());
  for (size_t i = 0; i < variables.size(); ++i) {
    // The sum of a moving statistic stays 0, so it does not contribute to the norm.
    if (IsGradient(variables[i])) sums[i] = nn::SumOfSquares(executor_->gradient(variables[i]));
  }
  std::vector<float> scales = clip_.NormScales(sums);
  for (size_t i = 0; i < variables.size(); ++i) {
    if (!IsGradient(variables[i])) scales[i] = 1;
  }
  return scales;
}

}  // namespace cairn::worker
