#ifndef CAIRN_NN_LAYERS_RANDOM_COLOR_H_
#define CAIRN_NN_LAYERS_RANDOM_COLOR_H_

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "common/random.h"
#include "nn/layer.h"
#include "nn/layer_config.h"

namespace cairn::nn {

// RandomBrightness and RandomContrast. During training each image is changed by one draw, and its
// values are clipped to the value range. Brightness adds the draw times the length of the range;
// contrast multiplies the difference from each channel's mean by the draw. In inference the layer
// is the identity.
class RandomColorLayer : public Layer {
 public:
  enum class Kind { kBrightness, kContrast };

  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  Kind kind() const { return arguments_.kind; }
  // The smallest and the largest value that images may have.
  const std::array<double, 2>& value_range() const { return arguments_.value_range; }
  // What is added to an example's values, or the factor of its contrast. A pure function of the
  // layer's key in the batch.
  float Draw(uint64_t key, int64_t example) const {
    const auto& [low, high] = arguments_.draws;
    return static_cast<float>(low + (high - low) * RandomUniform(key, example));
  }

 private:
  struct Arguments {
    Kind kind = Kind::kBrightness;
    std::array<double, 2> value_range = {0, 255};
    // The range of draws.
    std::array<double, 2> draws = {0, 0};
  };
  RandomColorLayer(Base base, TensorSpec output, const Arguments& arguments)
      : Layer(std::move(base), std::move(output), {}), arguments_(arguments) {}

  const Arguments arguments_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_RANDOM_COLOR_H_
