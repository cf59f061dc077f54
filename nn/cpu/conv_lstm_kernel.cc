#include <algorithm>
#include <memory>

#include "nn/cpu/aligned_buffer.h"
#include "nn/cpu/column_sum.h"
#include "nn/cpu/create_convolution.h"
#include "nn/cpu/kernels.h"
#include "nn/cpu/recurrent_cell.h"
#include "nn/layers/conv_lstm.h"

namespace cairn::nn {
namespace {

// One convolution computes the input's part of all gates for the whole sequence, because it does
// not depend on the state. Then, step by step: the convolution of the state, and the cell for each
// pixel. Steps are counted in the order of computation; at(step) is the position in the sequence.
class ConvLstmKernel : public Kernel {
 public:
  ConvLstmKernel(const ConvLstmLayer& layer, const KernelContext& context)
      : layer_(layer),
        examples_(context.options.examples),
        steps_(layer.cell().steps),
        pixels_(layer.output_image()[0] * layer.output_image()[1]),
        filters_(layer.cell().units),
        states_(examples_ * pixels_ * filters_),
        cell_(CreateRecurrentCell(layer.cell())),
        input_(CreateConvolution({.examples = examples_ * steps_,
                                  .input = layer.input_image(),
                                  .output = Gates(layer.output_image()),
                                  .window = layer.window(),
                                  .adds_bias = layer.cell().use_bias,
                                  .training = context.options.training,
                                  .needs_input_gradient = context.options.needs_input_gradient},
                                 context.dnnl)),
        recurrent_(CreateConvolution({.examples = examples_,
                                      .input = layer.output_image(),
                                      .output = Gates(layer.output_image()),
                                      .window = layer.recurrent_window(),
                                      .training = context.options.training},
                                     context.dnnl)),
        x_parts_(steps_ * states_ * kGates),
        h_parts_(steps_ * states_ * kGates),
        h_((steps_ + 1) * states_),
        c_((steps_ + 1) * states_) {
    std::fill_n(h_.get(), states_, 0.0f);
    std::fill_n(c_.get(), states_, 0.0f);
    if (!context.options.training) return;
    x_part_gradients_ = AlignedBuffer<float>(steps_ * states_ * kGates);
    h_part_gradient_ = AlignedBuffer<float>(states_ * kGates);
    h_gradient_ = AlignedBuffer<float>(states_);
    c_gradient_ = AlignedBuffer<float>(states_);
    before_gradient_ = AlignedBuffer<float>(states_);
    kernel_gradient_ = AlignedBuffer<float>(RecurrentKernelSize());
    column_sums_ = AlignedBuffer<double>(kGates * filters_);
  }

  absl::Status Forward(const ForwardArguments& arguments) override {
    input_->Forward(arguments.inputs[0], arguments.variables[0],
                    layer_.cell().use_bias ? arguments.variables[2] : nullptr, x_parts_.get());
    for (int64_t step = 0; step < steps_; ++step) {
      float* const h_part = h_parts_.get() + step * states_ * kGates;
      recurrent_->Forward(h_.get() + step * states_, arguments.variables[1], nullptr, h_part);
      for (int64_t row = 0; row < examples_ * pixels_; ++row) {
        const int64_t before = step * states_ + row * filters_;
        cell_->Forward({.x_part = x_parts_.get() + XPart(step, row),
                        .h_part = h_part + row * kGates * filters_,
                        .h_before = h_.get() + before,
                        .c_before = c_.get() + before,
                        .h = h_.get() + before + states_,
                        .c = c_.get() + before + states_});
      }
    }
    ForEachOutput([&](int64_t step, int64_t state, int64_t output, int64_t count) {
      std::copy_n(h_.get() + (step + 1) * states_ + state, count, arguments.output + output);
    });
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    std::fill_n(h_gradient_.get(), states_, 0.0f);
    std::fill_n(c_gradient_.get(), states_, 0.0f);
    float* const recurrent_kernel = arguments.variable_gradients[1];
    if (recurrent_kernel != nullptr) std::fill_n(recurrent_kernel, RecurrentKernelSize(), 0.0f);
    for (int64_t step = steps_ - 1; step >= 0; --step) {
      ForEachOutput([&](int64_t of_step, int64_t state, int64_t output, int64_t count) {
        if (of_step != step) return;
        for (int64_t i = 0; i < count; ++i) {
          h_gradient_.get()[state + i] += arguments.output_gradient[output + i];
        }
      });
      StepBack(step);
      if (recurrent_kernel != nullptr) {
        recurrent_->KernelGradient(h_.get() + step * states_, h_part_gradient_.get(),
                                   kernel_gradient_.get());
        for (int64_t i = 0; i < RecurrentKernelSize(); ++i) {
          recurrent_kernel[i] += kernel_gradient_.get()[i];
        }
      }
      if (step == 0) break;
      // An LSTM's state reaches the next step through its convolution only.
      recurrent_->InputGradient(h_part_gradient_.get(), arguments.variables[1], h_gradient_.get());
    }
    if (float* kernel = arguments.variable_gradients[0]) {
      input_->KernelGradient(arguments.inputs[0], x_part_gradients_.get(), kernel);
    }
    float* const bias = layer_.cell().use_bias ? arguments.variable_gradients[2] : nullptr;
    if (bias != nullptr) {
      SumColumns(examples_ * steps_ * pixels_, kGates * filters_, x_part_gradients_.get(),
                 column_sums_.get(), bias);
    }
    if (float* input = arguments.input_gradients[0]) {
      input_->InputGradient(x_part_gradients_.get(), arguments.variables[0], input);
    }
  }

 private:
  static constexpr int64_t kGates = 4;

  static Shape Gates(const Shape& image) { return {image[0], image[1], kGates * image[2]}; }

  int64_t RecurrentKernelSize() const { return ElementCount(layer_.variables()[1].spec.shape); }
  int64_t at(int64_t step) const { return layer_.cell().goes_backwards ? steps_ - 1 - step : step; }
  // Where the input's parts of a pixel's gates are; they have the layout (examples, steps, pixels,
  // gates).
  int64_t XPart(int64_t step, int64_t row) const {
    const int64_t image = row / pixels_ * steps_ + at(step);
    return (image * pixels_ + row % pixels_) * kGates * filters_;
  }

  // Calls visit(step, place in the state, place in the output, number of elements) for each run of
  // elements of the output.
  template <typename Visit>
  void ForEachOutput(const Visit& visit) const {
    const int64_t count = pixels_ * filters_;
    const int64_t rows = layer_.returns_sequences() ? steps_ : 1;
    for (int64_t example = 0; example < examples_; ++example) {
      for (int64_t row = 0; row < rows; ++row) {
        visit(rows == 1 ? steps_ - 1 : row, example * count, (example * rows + row) * count, count);
      }
    }
  }

  // From the gradients with respect to the state after the step: those of the gates' parts and of
  // c before the step.
  void StepBack(int64_t step) {
    const float* const h_part = h_parts_.get() + step * states_ * kGates;
    for (int64_t row = 0; row < examples_ * pixels_; ++row) {
      const int64_t state = row * filters_;
      const int64_t before = step * states_ + state;
      cell_->Backward({.x_part = x_parts_.get() + XPart(step, row),
                       .h_part = h_part + state * kGates,
                       .h_before = h_.get() + before,
                       .c_before = c_.get() + before,
                       .h = h_.get() + before + states_,
                       .c = c_.get() + before + states_,
                       .h_gradient = h_gradient_.get() + state,
                       .c_gradient = c_gradient_.get() + state,
                       .h_before_gradient = before_gradient_.get() + state,
                       .x_part_gradient = x_part_gradients_.get() + XPart(step, row),
                       .h_part_gradient = h_part_gradient_.get() + state * kGates});
    }
  }

  const ConvLstmLayer& layer_;
  const int64_t examples_;
  const int64_t steps_;
  const int64_t pixels_;  // Of a state's image.
  const int64_t filters_;
  const int64_t states_;  // Elements of the states of all examples.
  const std::unique_ptr<RecurrentCell> cell_;
  const std::unique_ptr<Convolution> input_;
  const std::unique_ptr<Convolution> recurrent_;
  AlignedBuffer<float> x_parts_;
  AlignedBuffer<float> h_parts_;  // (steps, examples, pixels, gates).
  // steps + 1 states; the first one is the initial state, zero.
  AlignedBuffer<float> h_;
  AlignedBuffer<float> c_;

  AlignedBuffer<float> x_part_gradients_;
  AlignedBuffer<float> h_part_gradient_;
  AlignedBuffer<float> h_gradient_;
  AlignedBuffer<float> c_gradient_;
  AlignedBuffer<float> before_gradient_;
  AlignedBuffer<float> kernel_gradient_;
  AlignedBuffer<double> column_sums_;
};

}  // namespace

std::unique_ptr<Kernel> CreateConvLstmKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<ConvLstmKernel>(static_cast<const ConvLstmLayer&>(layer), context);
}

}  // namespace cairn::nn
