#include "nn/cpu/embedding_kernel.h"

#include <cmath>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nn/layers/embedding.h"

namespace cairn::nn {
namespace {

class EmbeddingKernel : public Kernel {
 public:
  EmbeddingKernel(const EmbeddingLayer& layer, const KernelContext& context)
      : layer_(layer),
        ids_are_floats_(layer.inputs()[0].type == proto::FLOAT32),
        ids_(context.options.examples * ElementCount(layer.inputs()[0].shape)) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    const int64_t width = layer_.width();
    for (size_t i = 0; i < ids_.size(); ++i) {
      ids_[i] = ReadId(arguments.inputs[0], i);
      if (ids_[i] < 0) return IdError(arguments.inputs[0], i);
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
  // -1 if it is not a row of the table.
  int64_t ReadId(const float* ids, size_t i) const {
    if (ids_are_floats_) {
      const float id = std::trunc(ids[i]);
      return id >= 0 && id < static_cast<float>(layer_.rows()) ? static_cast<int64_t>(id) : -1;
    }
    int32_t id;
    std::memcpy(&id, ids + i, sizeof(id));
    return id < layer_.rows() ? std::max(id, -1) : -1;
  }

  absl::Status IdError(const float* ids, size_t i) const {
    int32_t id;
    std::memcpy(&id, ids + i, sizeof(id));
    return absl::InvalidArgumentError(
        absl::StrCat("layer '", layer_.name(), "' (Embedding): id ",
                     ids_are_floats_ ? absl::StrCat(ids[i]) : absl::StrCat(id),
                     " is not one of the rows 0 to ", layer_.rows() - 1));
  }

  const EmbeddingLayer& layer_;
  const bool ids_are_floats_;
  std::vector<int64_t> ids_;
};

}  // namespace

std::unique_ptr<Kernel> CreateEmbeddingKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<EmbeddingKernel>(static_cast<const EmbeddingLayer&>(layer), context);
}

}  // namespace cairn::nn
