#include "job/preprocessing.h"

#include <algorithm>
#include <cstddef>

namespace cairn::job {
Preprocessing::Preprocessing(const proto::DataSource& source, const proto::DataPlan& plan,
                             const nn::Signature& model, int input) {
  if (model.inputs()[input].spec.type == proto::INT32) return;
  if (source.has_scale()) scale_ = source.scale();
  if (!source.standardize() || input >= plan.inputs_size()) return;
  const proto::DataPlan::Standardization& statistics = plan.inputs(input);
  mean_.assign(statistics.mean().begin(), statistics.mean().end());
  for (const double deviation : statistics.deviation()) {
    inverse_.push_back(1 / std::max(deviation, kDeviationMin));
  }
}

void Preprocessing::Apply(absl::Span<float> values) const {
  if (scale_ != 1) {
    for (float& value : values) value = static_cast<float>(static_cast<double>(value) * scale_);
  }
  Standardize(values);
}

void Preprocessing::Standardize(absl::Span<float> values) const {
  const size_t places = mean_.size();
  if (places == 0) return;
  for (size_t begin = 0; begin + places <= values.size(); begin += places) {
    float* const at = values.data() + begin;
    for (size_t i = 0; i < places; ++i) {
      at[i] = static_cast<float>((static_cast<double>(at[i]) - mean_[i]) * inverse_[i]);
    }
  }
}

}  // namespace cairn::job
