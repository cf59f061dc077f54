#ifndef CAIRN_NN_LAYERS_DOT_H_
#define CAIRN_NN_LAYERS_DOT_H_

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"

namespace cairn::nn {

// Dot: the dot product of two inputs along one axis of each. The output has the remaining axes of
// the first input, then those of the second, or one axis of length 1 if none remain. With
// `normalize` both inputs are L2-normalized along the axis first (cosine similarity).
class DotLayer : public Layer {
 public:
  // An input viewed as (outer, length, inner), where the products are summed over the middle axis.
  struct Side {
    int64_t outer = 1;
    int64_t length = 1;
    int64_t inner = 1;
    int64_t count() const { return outer * length * inner; }
  };

  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  const std::array<Side, 2>& sides() const { return sides_; }
  bool normalizes() const { return normalizes_; }

 private:
  DotLayer(Base base, TensorSpec output, const std::array<Side, 2>& sides, bool normalizes)
      : Layer(std::move(base), std::move(output), {}), sides_(sides), normalizes_(normalizes) {}

  const std::array<Side, 2> sides_;
  const bool normalizes_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_DOT_H_
