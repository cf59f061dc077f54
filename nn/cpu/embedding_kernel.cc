#include <cstring>
#include <vector>

#include "nn/cpu/id_reader.h"
#include "nn/cpu/kernels.h"
#include "nn/layers/embedding.h"

namespace cairn::nn {
namespace {

class EmbeddingKernel : public Kernel {
 public:
  EmbeddingKernel(const EmbeddingLayer& layer, const KernelContext& context)
      : layer_(layer),
        reader_(layer, layer.rows(), "rows"),
        ids_(context.options.examples * ElementCount(layer.inputs()[0].shape)) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    const int64_t width = layer_.width();
    for (size_t i = 0; i < ids_.size(); ++i) {
      ids_[i] = reader_.Read(arguments.inputs[0], i);
      if (ids_[i] < 0) return reader_.Error(arguments.inputs[0], i);
      std::memcpy(arguments.output + i * width, arguments.variables[0] + ids_[i] * width,
                  width * sizeof(float));
    }
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    float* gradient = arguments.variable_gradients[0];
    if (gradient == nullptr) return;
    const int64_t width = layer_.width();
    std::memset(gradient, 0, layer_.rows() * width * sizeof(float));
    for (size_t i = 0; i < ids_.size(); ++i) {
      const float* from = arguments.output_gradient + i * width;
      float* row = gradient + ids_[i] * width;
      for (int64_t c = 0; c < width; ++c) row[c] += from[c];
    }
  }

 private:
  const EmbeddingLayer& layer_;
  const IdReader reader_;
  std::vector<int64_t> ids_;
};

}  // namespace

std::unique_ptr<Kernel> CreateEmbeddingKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<EmbeddingKernel>(static_cast<const EmbeddingLayer&>(layer), context);
}

}  // namespace cairn::nn
