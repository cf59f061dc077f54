#ifndef CAIRN_NN_LAYERS_RANDOM_PIXELS_H_
#define CAIRN_NN_LAYERS_RANDOM_PIXELS_H_

#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/random.h"
#include "nn/layer.h"
#include "nn/layer_config.h"

namespace cairn::nn {

// RandomInvert, RandomGrayscale, Solarization and RandomErasing: during training each image's
// pixels get other values, as drawn for the image. In inference the layer is the identity.
class RandomPixelsLayer : public Layer {
 public:
  // With a probability an image is inverted (x becomes high - x), turned gray, or a box of it is
  // filled. Solarization adds a number to all values, scaled to 0 to 255, and inverts those that
  // reach a threshold.
  enum class Kind { kInvert, kGray, kSolarize, kErase };
  // What is drawn for an image.
  struct Change {
    // False: the image stays as it is.
    bool applies = true;
    // kSolarize, in units of 0 to 255.
    double addition = 0;
    double threshold = 0;
    // kErase: the pixels in [begin, end), of rows and columns.
    std::array<double, 2> begin = {0, 0};
    std::array<double, 2> end = {0, 0};
  };

  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  Kind kind() const { return arguments_.kind; }
  // The smallest and the largest value that images may have.
  const std::array<double, 2>& value_range() const { return arguments_.value_range; }
  // An example's change. A pure function of the layer's key in the batch.
  Change Draw(uint64_t key, int64_t example) const;
  // kErase: the values of the channels; empty if boxes are filled with normal draws, which
  // FillValue makes with FillKey.
  const std::vector<double>& fill() const { return arguments_.fill; }
  static uint64_t FillKey(uint64_t key) { return DeriveKey(key, uint64_t{1}); }
  // kErase: the value of an element (an index into the example) in the box.
  float FillValue(uint64_t key, int64_t example, int64_t element) const;

 private:
  using Range = std::array<double, 2>;
  struct Arguments {
    Kind kind = Kind::kInvert;
    Range value_range = {0, 255};
    // The probability is itself drawn, from this range.
    Range probability = {1, 1};
    Range addition = {0, 0};
    Range threshold = {0, 0};
    // The squares of the box's sides, as parts of the image's.
    Range scale = {0, 0};
    // By channel. Empty: normal draws times the largest value.
    std::vector<double> fill;
  };
  RandomPixelsLayer(Base base, TensorSpec output, Arguments arguments)
      : Layer(std::move(base), std::move(output), {}), arguments_(std::move(arguments)) {}
  static Arguments ReadArguments(int64_t channels, LayerConfig& config);
  static double DrawFrom(const Range& range, uint64_t key, int64_t draw) {
    return range[0] + (range[1] - range[0]) * RandomUniform(key, draw);
  }

  const Arguments arguments_;
};

// Inline: the GPU library uses it, and must not link what reads configurations.
inline RandomPixelsLayer::Change RandomPixelsLayer::Draw(uint64_t key, int64_t example) const {
  constexpr int64_t kDraws = 6;  // Of an image.
  const int64_t first = example * kDraws;
  Change change;
  if (kind() == Kind::kSolarize) {
    change.addition = DrawFrom(arguments_.addition, key, first);
    change.threshold = DrawFrom(arguments_.threshold, key, first + 1);
    return change;
  }
  change.applies = RandomUniform(key, first) < DrawFrom(arguments_.probability, key, first + 1);
  if (kind() != Kind::kErase) return change;
  for (int axis = 0; axis < 2; ++axis) {
    const auto length = static_cast<double>(output().shape[axis]);
    const double part = std::sqrt(DrawFrom(arguments_.scale, key, first + 2 + axis)) * length;
    change.begin[axis] = RandomUniform(key, first + 4 + axis) * (length - part);
    change.end[axis] = change.begin[axis] + part;
  }
  return change;
}

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_RANDOM_PIXELS_H_
