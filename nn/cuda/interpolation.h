#ifndef CAIRN_NN_CUDA_INTERPOLATION_H_
#define CAIRN_NN_CUDA_INTERPOLATION_H_

#include <cstdint>
#include <vector>

#include "nn/cuda/context.h"
#include "nn/layers/resize.h"

namespace cairn::nn::cuda {

// Resizes images (height, width, channels) by bilinear or nearest-neighbor interpolation, as
// nn/cpu/interpolation.h. Sums have a fixed order. The constructor throws OutOfMemory.
class Interpolation {
 public:
  // For each pixel along an axis of one image, its parts in the other image: pixels[k] with
  // weights[k], for k from begins[i] to begins[i + 1].
  struct Parts {
    const int64_t* begins = nullptr;
    const int64_t* pixels = nullptr;
    const float* weights = nullptr;
  };

  Interpolation(const Resize& resize, int64_t channels, Context* context);

  void Forward(int64_t examples, const float* input, float* output) const;
  void Backward(int64_t examples, const float* output_gradient, float* input_gradient) const;

 private:
  struct Pair {
    int64_t output = 0;
    int64_t input = 0;
    float weight = 0;
  };
  // The parts of both directions of an axis.
  class AxisParts {
   public:
    AxisParts(const ResizedAxis& axis, bool nearest, Context* context)
        : AxisParts(PairsOf(axis, nearest), axis, context) {}

    Parts of_output() const {
      return {output_begins_.data(), input_pixels_.data(), input_weights_.data()};
    }
    Parts of_input() const {
      return {input_begins_.data(), output_pixels_.data(), output_weights_.data()};
    }

   private:
    AxisParts(std::vector<Pair> pairs, const ResizedAxis& axis, Context* context);
    // Sorted by output.
    static std::vector<Pair> PairsOf(const ResizedAxis& axis, bool nearest);
    // `pairs` is sorted by `key`.
    static void Store(Context* context, const std::vector<Pair>& pairs, int64_t count,
                      int64_t Pair::*key, int64_t Pair::*value, int64_t* to_begins,
                      int64_t* to_pixels, float* to_weights);

    // By output pixel, the input's pixels; and by input pixel, the output's.
    DeviceArray<int64_t> output_begins_;
    DeviceArray<int64_t> input_pixels_;
    DeviceArray<float> input_weights_;
    DeviceArray<int64_t> input_begins_;
    DeviceArray<int64_t> output_pixels_;
    DeviceArray<float> output_weights_;
  };

  Context* const context_;
  const int64_t channels_;
  const ResizedAxis height_;
  const ResizedAxis width_;
  const AxisParts rows_;
  const AxisParts columns_;
};

}  // namespace cairn::nn::cuda

#endif  // CAIRN_NN_CUDA_INTERPOLATION_H_
