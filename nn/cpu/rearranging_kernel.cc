#include <cstring>
#include <vector>

#include "nn/cpu/kernels.h"
#include "nn/layers/rearranging.h"

namespace cairn::nn {
namespace {

// If the last axis is copied as a whole, its elements are copied as one block.
class RearrangingKernel : public Kernel {
 public:
  RearrangingKernel(const RearrangingLayer& layer, const KernelContext& context)
      : examples_(context.options.examples), input_(ElementCount(layer.inputs()[0].shape)) {
    std::vector<AxisMapping> mappings = layer.mappings();
    const AxisMapping& last = mappings.back();
    const bool is_whole =
        last.input_stride == 1 && last.offset == 0 && last.length == last.input_length;
    if (is_whole) {
      block_ = last.length;
      mappings.pop_back();
    }
    sources_ = SourcesOf(mappings);
  }

  absl::Status Forward(const ForwardArguments& arguments) override {
    float* to = arguments.output;
    for (int64_t example = 0; example < examples_; ++example) {
      const float* from = arguments.inputs[0] + example * input_;
      for (int64_t source : sources_) {
        if (source < 0) {
          std::memset(to, 0, block_ * sizeof(float));
        } else {
          std::memcpy(to, from + source, block_ * sizeof(float));
        }
        to += block_;
      }
    }
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    if (arguments.input_gradients[0] == nullptr) return;
    std::memset(arguments.input_gradients[0], 0, examples_ * input_ * sizeof(float));
    const float* from = arguments.output_gradient;
    for (int64_t example = 0; example < examples_; ++example) {
      float* to = arguments.input_gradients[0] + example * input_;
      for (int64_t source : sources_) {
        for (int64_t i = 0; source >= 0 && i < block_; ++i) to[source + i] += from[i];
        from += block_;
      }
    }
  }

 private:
  const int64_t examples_;
  const int64_t input_;
  int64_t block_ = 1;
  // The source offset of each block of an example's output; -1 for zeros.
  std::vector<int64_t> sources_;
};

}  // namespace

std::unique_ptr<Kernel> CreateRearrangingKernel(const Layer& layer, const KernelContext& context) {
  if (context.options.next != nullptr) return CreatePaddedConv2DKernel(layer, context);
  return std::make_unique<RearrangingKernel>(static_cast<const RearrangingLayer&>(layer), context);
}

}  // namespace cairn::nn
