#include "nn/layers/discretization.h"

#include <string>

#include "common/status_macros.h"

namespace cairn::nn {

absl::StatusOr<std::unique_ptr<const Layer>> DiscretizationLayer::Create(LayerConfig& config) {
  const std::vector<double> given =
      config.Numbers("bin_boundaries").value_or(std::vector<double>());
  std::vector<float> boundaries(given.begin(), given.end());
  if (boundaries.empty()) {
    config.FailArgument("bin_boundaries",
                        "is missing: give it, or call adapt() before the model is written");
  }
  if (!std::is_sorted(boundaries.begin(), boundaries.end())) {
    config.FailArgument("bin_boundaries", "must be ascending");
  }
  const std::string word = config.Choice("output_mode", {"int", "one_hot", "multi_hot", "count"});
  if (config.Bool("sparse", false)) config.FailArgument("sparse", "is not supported");
  // The first two are for adapt(). Keras's type of bins is int64; here they are floats.
  config.Ignore({"num_bins", "epsilon", "dtype"});
  TensorSpec output{.shape = config.AnyInput().shape};
  int64_t group = 1;
  const bool encodes = word != "int";
  if (encodes && !output.shape.empty() && (word != "one_hot" || output.shape.back() == 1)) {
    group = output.shape.back();
    output.shape.pop_back();
  }
  if (encodes) output.shape.push_back(static_cast<int64_t>(boundaries.size()) + 1);
  CAIRN_RETURN_IF_ERROR(config.Finish());
  const Mode mode = word == "int"         ? Mode::kInt
                    : word == "one_hot"   ? Mode::kOneHot
                    : word == "multi_hot" ? Mode::kMultiHot
                                          : Mode::kCount;
  return std::unique_ptr<const Layer>(new DiscretizationLayer(config.base(), std::move(output),
                                                              std::move(boundaries), mode, group));
}

}  // namespace cairn::nn
