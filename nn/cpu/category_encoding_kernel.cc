#include <algorithm>

#include "nn/cpu/id_reader.h"
#include "nn/cpu/kernels.h"
#include "nn/layers/category_encoding.h"

namespace cairn::nn {
namespace {

class CategoryEncodingKernel : public Kernel {
 public:
  CategoryEncodingKernel(const CategoryEncodingLayer& layer, const KernelContext& context)
      : counts_(layer.mode() == CategoryEncodingLayer::Mode::kCount),
        group_(layer.group()),
        tokens_(layer.tokens()),
        ids_(context.options.examples * ElementCount(layer.inputs()[0].shape)),
        reader_(layer, layer.tokens(), "tokens") {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    std::fill_n(arguments.output, ids_ / group_ * tokens_, 0.0f);
    for (int64_t i = 0; i < ids_; ++i) {
      const int64_t id = reader_.Read(arguments.inputs[0], i);
      if (id < 0) return reader_.Error(arguments.inputs[0], i);
      float& element = arguments.output[i / group_ * tokens_ + id];
      element = counts_ ? element + 1 : 1;
    }
    return absl::OkStatus();
  }

  // Ids have no gradient. If they are floats, the gradient is zero.
  void Backward(const BackwardArguments& arguments) override {
    float* gradient = arguments.input_gradients[0];
    if (gradient != nullptr) std::fill_n(gradient, ids_, 0.0f);
  }

 private:
  const bool counts_;
  const int64_t group_;
  const int64_t tokens_;
  const int64_t ids_;
  const IdReader reader_;
};

}  // namespace

std::unique_ptr<Kernel> CreateCategoryEncodingKernel(const Layer& layer,
                                                     const KernelContext& context) {
  return std::make_unique<CategoryEncodingKernel>(static_cast<const CategoryEncodingLayer&>(layer),
                                                  context);
}

}  // namespace cairn::nn
