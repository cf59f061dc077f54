#ifndef CAIRN_NN_LAYERS_ADAPTIVE_POOLING_H_
#define CAIRN_NN_LAYERS_ADAPTIVE_POOLING_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"

namespace cairn::nn {

// AdaptiveAveragePooling and AdaptiveMaxPooling in 1D, 2D and 3D: pooling to an output of a given
// size. Along an axis of length n, output i of m is about the pixels from i n / m, rounded down, to
// (i + 1) n / m, rounded up.
class AdaptivePoolingLayer : public Layer {
 public:
  enum class Kind { kMaximum, kAverage };
  // Depth, height and width. In fewer dimensions the first ones are 1.
  using Size = std::array<int64_t, 3>;

  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  Kind kind() const { return kind_; }
  Size input_size() const { return SizeOf(inputs()[0].shape); }
  Size output_size() const { return SizeOf(output().shape); }
  int64_t channels() const { return output().shape.back(); }

  // The pixels [Begin, End) of output `i` along an axis of `output` places over `input` pixels.
  static constexpr int64_t Begin(int64_t i, int64_t input, int64_t output) {
    return i * input / output;
  }
  static constexpr int64_t End(int64_t i, int64_t input, int64_t output) {
    return ((i + 1) * input + output - 1) / output;
  }

 private:
  AdaptivePoolingLayer(Base base, TensorSpec output, Kind kind)
      : Layer(std::move(base), std::move(output), {}), kind_(kind) {}
  // Inline for the GPU library, which links no code of layers.
  static Size SizeOf(const Shape& shape) {
    Size size = {1, 1, 1};
    std::copy(shape.begin(), shape.end() - 1, size.end() - (shape.size() - 1));
    return size;
  }

  const Kind kind_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_ADAPTIVE_POOLING_H_
