#include <vector>

#include "nn/cuda/kernels.h"
#include "nn/cuda/loops.h"
#include "nn/cuda/merged_mask.h"
#include "nn/layers/concatenate.h"

namespace cairn::nn::cuda {
namespace {

void CopyRows(Context* context, int64_t rows, int64_t width, const float* from, int64_t from_step,
              float* to, int64_t to_step) {
  const Divisor columns = width;
  ForEach(context, rows * width, [=] __device__(int64_t i) {
    const int64_t row = i / columns;
    const int64_t column = i - row * columns;
    to[row * to_step + column] = from[row * from_step + column];
  });
}

class ConcatenateKernel final : public Kernel {
 public:
  ConcatenateKernel(const ConcatenateLayer& layer, const KernelContext& context)
      : context_(context.cuda),
        layer_(layer),
        examples_(context.options.examples),
        rows_(examples_) {
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
      CopyRows(context_, rows_, widths_[i], arguments.inputs[i], widths_[i],
               arguments.output + offset, output_width_);
      offset += widths_[i];
    }
    WriteMergedMask(context_, layer_, examples_, arguments);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    int64_t offset = 0;
    for (size_t i = 0; i < widths_.size(); ++i) {
      if (float* gradient = arguments.input_gradients[i]) {
        CopyRows(context_, rows_, widths_[i], arguments.output_gradient + offset, output_width_,
                 gradient, widths_[i]);
      }
      offset += widths_[i];
    }
  }

 private:
  Context* const context_;
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

}  // namespace cairn::nn::cuda
