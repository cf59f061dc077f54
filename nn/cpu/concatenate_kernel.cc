#include <cstring>
#include <vector>

#include "nn/cpu/kernels.h"
#include "nn/cpu/merged_mask.h"
#include "nn/layers/concatenate.h"

namespace cairn::nn {
namespace {

class ConcatenateKernel : public Kernel {
 public:
  ConcatenateKernel(const ConcatenateLayer& layer, const KernelContext& context)
      : layer_(layer), examples_(context.options.examples), rows_(examples_) {
    const Shape& output = layer.output().shape;
    for (int64_t i = 0; i < layer.axis(); ++i) rows_ *= output[i];
    for (const TensorSpec& input : layer.inputs()) {
      const int64_t width = ElementCount(absl::MakeConstSpan(input.shape).subspan(layer.axis()));
      widths_.push_back(width);
      output_width_ += width;
    }
  }

  absl::Status Forward(const ForwardArguments& arguments) override {
    int64_t offset = 0;
    for (size_t i = 0; i < widths_.size(); ++i) {
      CopyRows(arguments.inputs[i], widths_[i], arguments.output + offset, output_width_,
               widths_[i]);
      offset += widths_[i];
    }
    WriteMergedMask(layer_, examples_, arguments);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    int64_t offset = 0;
    for (size_t i = 0; i < widths_.size(); ++i) {
      if (float* gradient = arguments.input_gradients[i]) {
        CopyRows(arguments.output_gradient + offset, output_width_, gradient, widths_[i],
                 widths_[i]);
      }
      offset += widths_[i];
    }
  }

 private:
  void CopyRows(const float* from, int64_t from_stride, float* to, int64_t to_stride,
                int64_t width) const {
    for (int64_t row = 0; row < rows_; ++row) {
      std::memcpy(to + row * to_stride, from + row * from_stride, width * sizeof(float));
    }
  }

  const ConcatenateLayer& layer_;
  const int64_t examples_;
  // The axes before the concatenated one, with the batch, are rows; that axis and the following
  // ones are the width of a row.
  int64_t rows_;
  std::vector<int64_t> widths_;
  int64_t output_width_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> CreateConcatenateKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<ConcatenateKernel>(static_cast<const ConcatenateLayer&>(layer), context);
}

}  // namespace cairn::nn
