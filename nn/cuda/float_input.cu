#include <bit>

#include "nn/cuda/float_input.h"
#include "nn/cuda/loops.h"

namespace cairn::nn::cuda {

FloatInput::FloatInput(const TensorSpec& spec, int64_t examples, Context* context)
    : context_(context),
      count_(spec.type == proto::FLOAT32 ? 0 : examples * ElementCount(spec.shape)),
      floats_(context, count_) {}

const float* FloatInput::Get(const float* values) const {
  if (count_ == 0) return values;
  MapColumns<1, 1>(context_, 1, count_, {{values}, {floats_.data()}},
                   [=] __device__(int64_t, const float* from, float* to) {
                     to[0] = static_cast<float>(std::bit_cast<int32_t>(from[0]));
                   });
  return floats_.data();
}

}  // namespace cairn::nn::cuda
