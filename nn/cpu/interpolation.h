#ifndef CAIRN_NN_CPU_INTERPOLATION_H_
#define CAIRN_NN_CPU_INTERPOLATION_H_

#include <array>
#include <cstdint>
#include <vector>

#include "nn/layers/resize.h"

namespace cairn::nn {

// Resizes images (height, width, channels) of one size by bilinear or nearest-neighbor
// interpolation. Immutable and thread-safe.
class Interpolation {
 public:
  Interpolation(const Resize& resize, int64_t channels);

  void Forward(const float* input, float* output) const;
  // Adds the gradient with respect to the input to `input_gradient`.
  void AddGradient(const float* output_gradient, float* input_gradient) const;

 private:
  // The two input pixels that an output pixel interpolates along an axis, and the weight of the
  // second.
  struct Tap {
    int64_t low = 0;
    int64_t high = 0;
    float weight = 0;
  };
  static std::vector<Tap> TapsOf(const ResizedAxis& axis, bool nearest);
  // Calls visit(input offset, output offset, weight) for each input pixel of each output pixel.
  template <typename Visit>
  void ForEachPart(const Visit& visit) const;

  const int64_t channels_;
  const int64_t input_width_;
  const std::array<std::vector<Tap>, 2> taps_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_INTERPOLATION_H_
