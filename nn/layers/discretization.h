#ifndef CAIRN_NN_LAYERS_DISCRETIZATION_H_
#define CAIRN_NN_LAYERS_DISCRETIZATION_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"

namespace cairn::nn {

// Discretization: replaces each number by its bin, which is the number of boundaries that are not
// larger. `int` returns the bins, as floats; the other modes encode them as CategoryEncoding does.
class DiscretizationLayer : public Layer {
 public:
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  enum class Mode { kInt, kOneHot, kMultiHot, kCount };
  Mode mode() const { return mode_; }
  const std::vector<float>& boundaries() const { return boundaries_; }  // Ascending.
  int64_t bins() const { return static_cast<int64_t>(boundaries_.size()) + 1; }
  // The number of bins per vector of the output. 1 in mode kInt.
  int64_t group() const { return group_; }
  int64_t BinOf(float value) const {
    return std::upper_bound(boundaries_.begin(), boundaries_.end(), value) - boundaries_.begin();
  }

 private:
  DiscretizationLayer(Base base, TensorSpec output, std::vector<float> boundaries, Mode mode,
                      int64_t group)
      : Layer(std::move(base), std::move(output), {}),
        boundaries_(std::move(boundaries)),
        mode_(mode),
        group_(group) {}

  const std::vector<float> boundaries_;
  const Mode mode_;
  const int64_t group_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_DISCRETIZATION_H_
