#ifndef CAIRN_NN_LAYERS_RANDOM_FLIP_H_
#define CAIRN_NN_LAYERS_RANDOM_FLIP_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "common/random.h"
#include "nn/layer.h"
#include "nn/layer_config.h"

namespace cairn::nn {

// RandomFlip: during training, flips each image along each of the selected axes with probability
// 1/2.
class RandomFlipLayer : public Layer {
 public:
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  bool flips_rows() const { return flips_rows_ && !inference_only(); }
  bool flips_columns() const { return flips_columns_ && !inference_only(); }
  // Whether an example is flipped along rows (axis 0) or columns (axis 1). A pure function of the
  // layer's key in the batch.
  static constexpr bool Flips(uint64_t key, int64_t example, int axis) {
    return RandomUniform(key, 2 * example + axis) < 0.5f;
  }

 private:
  RandomFlipLayer(Base base, TensorSpec output, bool flips_rows, bool flips_columns)
      : Layer(std::move(base), std::move(output), {}),
        flips_rows_(flips_rows),
        flips_columns_(flips_columns) {}

  const bool flips_rows_;
  const bool flips_columns_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_RANDOM_FLIP_H_
