#ifndef CAIRN_NN_CPU_INTERPOLATION_H_
#define CAIRN_NN_CPU_INTERPOLATION_H_

#include <array>
#include <cstdint>
#include <vector>

#include "nn/layers/resize.h"

namespace cairn::nn {

// Resizes images of one size, (height, width, channels) each. Immutable.
class Interpolation {
 public:
  Interpolation(const Resize& resize, int64_t channels);

  void Forward(const float* input, float* output) const;
  // Adds to the input's gradient.
  void AddGradient(const float* output_gradient, float* input_gradient) const;

 private:
  // An output pixel's two neighbours along an axis, and how much of the second it takes.
  struct Tap {
    int64_t low = 0;
    int64_t high = 0;
    float weight = 0;
  };
  static std::vector<Tap> TapsOf(const ResizedAxis& axis, bool nearest);
  // Calls visit(input offset, output offset, weight) for all that an output pixel is made of.
  template <typename Visit>
  void ForEachPart(const Visit& visit) const;

  const int64_t channels_;
  const int64_t input_width_;
  const std::array<std::vector<Tap>, 2> taps_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_INTERPOLATION_H_
