#ifndef CAIRN_NN_LAYERS_RANDOM_AFFINE_H_
#define CAIRN_NN_LAYERS_RANDOM_AFFINE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"

namespace cairn::nn {

// RandomTranslation, RandomRotation, RandomZoom and RandomShear: during training each image is
// mapped by one affine map, which is drawn for it. In inference the layer is the identity.
class RandomAffineLayer : public Layer {
 public:
  enum class Kind { kTranslation, kRotation, kZoom, kShear };
  // What is outside of the image: the image reflected at its borders (dcba|abcd|dcba), repeated,
  // fill_value(), or the border's pixels.
  enum class Fill { kReflect, kWrap, kConstant, kNearest };
  // The pixel (x, y) of the output has the value of the input at (x(..), y(..)).
  struct Map {
    std::array<double, 3> x_row = {1, 0, 0};
    std::array<double, 3> y_row = {0, 1, 0};

    double x(double column, double row) const {
      return x_row[0] * column + x_row[1] * row + x_row[2];
    }
    double y(double column, double row) const {
      return y_row[0] * column + y_row[1] * row + y_row[2];
    }
  };

  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  Fill fill() const { return arguments_.fill; }
  double fill_value() const { return arguments_.fill_value; }
  // Nearest-neighbor interpolation, otherwise bilinear.
  bool nearest() const { return arguments_.nearest; }
  // An example's map. A pure function of the layer's key in the batch.
  Map Draw(uint64_t key, int64_t example) const;

 private:
  using Range = std::array<double, 2>;
  struct Arguments {
    Kind kind = Kind::kTranslation;
    // The ranges of the draws: of height and width, parts of a turn (rotation has one draw), or the
    // shears of y and x.
    Range first = {0, 0};
    Range second = {0, 0};
    // If true, the second draw is the first one.
    bool has_one_draw = false;
    Fill fill = Fill::kReflect;
    double fill_value = 0;
    bool nearest = false;
  };
  RandomAffineLayer(Base base, TensorSpec output, const Arguments& arguments)
      : Layer(std::move(base), std::move(output), {}), arguments_(arguments) {}
  static Arguments ReadArguments(LayerConfig& config);

  const Arguments arguments_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_RANDOM_AFFINE_H_
