#ifndef CAIRN_NN_CUDA_RANDOM_IMAGES_KERNEL_H_
#define CAIRN_NN_CUDA_RANDOM_IMAGES_KERNEL_H_

#include <cstdint>
#include <vector>

#include "nn/cuda/float_input.h"
#include "nn/cuda/kernels.h"

namespace cairn::nn::cuda {

// A layer that changes each image of a batch in training, as the host draws it: a `Drawn` for each
// example, from layer.Draw(random_key, example). In inference images are copied.
template <typename RandomLayer, typename Drawn>
class RandomImagesKernel : public Kernel {
 public:
  absl::Status Forward(const ForwardArguments& arguments) override {
    const float* const images = input_.Get(arguments.inputs[0]);
    if (!arguments.training || layer_.inference_only()) {
      context_->Copy(arguments.output, images, count_ * sizeof(float));
      return absl::OkStatus();
    }
    std::vector<Drawn> draws;
    for (int64_t example = 0; example < examples_; ++example) {
      draws.push_back(layer_.Draw(arguments.random_key, example));
    }
    context_->Upload(draws_.data(), draws);
    Change(arguments.random_key, draws_.data(), images, arguments.output);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    float* const gradient = arguments.input_gradients[0];
    if (gradient == nullptr) return;
    if (layer_.inference_only()) {
      context_->Copy(gradient, arguments.output_gradient, count_ * sizeof(float));
      return;
    }
    Differentiate(draws_.data(), input_.Get(arguments.inputs[0]), arguments.output_gradient,
                  gradient);
  }

 protected:
  RandomImagesKernel(const RandomLayer& layer, const KernelContext& context)
      : context_(context.cuda),
        layer_(layer),
        examples_(context.options.examples),
        count_(examples_ * ElementCount(layer.output().shape)),
        input_(layer.inputs()[0], examples_, context.cuda),
        draws_(context.cuda, examples_) {}

  virtual void Change(uint64_t random_key, const Drawn* draws, const float* images,
                      float* output) = 0;
  // The gradient by the images from that by the output.
  virtual void Differentiate(const Drawn* draws, const float* images, const float* output_gradient,
                             float* gradient) = 0;

  Context* const context_;
  const RandomLayer& layer_;

 private:
  const int64_t examples_;
  const int64_t count_;
  const FloatInput input_;
  // Of the last Forward in training, by example.
  DeviceArray<Drawn> draws_;
};

}  // namespace cairn::nn::cuda

#endif  // CAIRN_NN_CUDA_RANDOM_IMAGES_KERNEL_H_
