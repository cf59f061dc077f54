#include <algorithm>
#include <utility>
#include <vector>

#include "nn/cpu/kernels.h"
#include "nn/cpu/parallel.h"
#include "nn/layers/adaptive_pooling.h"

namespace cairn::nn {
namespace {

class AdaptivePoolingKernel : public Kernel {
 public:
  AdaptivePoolingKernel(const AdaptivePoolingLayer& layer, const KernelContext& context)
      : is_maximum_(layer.kind() == AdaptivePoolingLayer::Kind::kMaximum),
        examples_(context.options.examples),
        channels_(layer.channels()),
        input_count_(ElementCount(layer.inputs()[0].shape)),
        output_count_(ElementCount(layer.output().shape)),
        winners_(is_maximum_ ? examples_ * output_count_ : 0) {
    const AdaptivePoolingLayer::Size input = layer.input_size();
    const AdaptivePoolingLayer::Size output = layer.output_size();
    for (int64_t place = 0; place < output[0] * output[1] * output[2]; ++place) {
      Window window;
      const int64_t at[] = {place / output[2] / output[1], place / output[2] % output[1],
                            place % output[2]};
      int64_t begin[3];
      int64_t end[3];
      for (int axis = 0; axis < 3; ++axis) {
        begin[axis] = AdaptivePoolingLayer::Begin(at[axis], input[axis], output[axis]);
        end[axis] = AdaptivePoolingLayer::End(at[axis], input[axis], output[axis]);
      }
      window.row_length = end[2] - begin[2];
      for (int64_t z = begin[0]; z < end[0]; ++z) {
        for (int64_t y = begin[1]; y < end[1]; ++y) {
          window.rows.push_back((z * input[1] + y) * input[2] + begin[2]);
        }
      }
      windows_.push_back(std::move(window));
    }
  }

  absl::Status Forward(const ForwardArguments& arguments) override {
    RunInParallel(examples_, [&](int64_t example) {
      const float* input = arguments.inputs[0] + example * input_count_;
      float* output = arguments.output + example * output_count_;
      int64_t* winners = is_maximum_ ? winners_.data() + example * output_count_ : nullptr;
      for (const Window& window : windows_) {
        if (is_maximum_) {
          Maximum(window, input, output, winners);
          winners += channels_;
        } else {
          Average(window, input, output);
        }
        output += channels_;
      }
    });
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    if (arguments.input_gradients[0] == nullptr) return;
    RunInParallel(examples_, [&](int64_t example) {
      float* gradient = arguments.input_gradients[0] + example * input_count_;
      const float* by_output = arguments.output_gradient + example * output_count_;
      std::fill_n(gradient, input_count_, 0.0f);
      if (is_maximum_) {
        const int64_t* winners = winners_.data() + example * output_count_;
        for (int64_t i = 0; i < output_count_; ++i) gradient[winners[i]] += by_output[i];
        return;
      }
      for (const Window& window : windows_) {
        ForEachPixel(window, [&](int64_t pixel) {
          for (int64_t c = 0; c < channels_; ++c) {
            gradient[pixel * channels_ + c] += by_output[c] * window.share();
          }
        });
        by_output += channels_;
      }
    });
  }

 private:
  // The pixels of one place of the output: runs of `row_length` pixels.
  struct Window {
    std::vector<int64_t> rows;
    int64_t row_length = 1;

    float share() const { return 1.0f / static_cast<float>(rows.size() * row_length); }
  };

  template <typename Visit>
  static void ForEachPixel(const Window& window, const Visit& visit) {
    for (const int64_t row : window.rows) {
      for (int64_t i = 0; i < window.row_length; ++i) visit(row + i);
    }
  }

  void Average(const Window& window, const float* input, float* output) const {
    std::fill_n(output, channels_, 0.0f);
    ForEachPixel(window, [&](int64_t pixel) {
      for (int64_t c = 0; c < channels_; ++c) output[c] += input[pixel * channels_ + c];
    });
    for (int64_t c = 0; c < channels_; ++c) output[c] *= window.share();
  }

  void Maximum(const Window& window, const float* input, float* output, int64_t* winners) const {
    for (int64_t c = 0; c < channels_; ++c) winners[c] = window.rows[0] * channels_ + c;
    ForEachPixel(window, [&](int64_t pixel) {
      for (int64_t c = 0; c < channels_; ++c) {
        const int64_t at = pixel * channels_ + c;
        if (input[at] > input[winners[c]]) winners[c] = at;
      }
    });
    for (int64_t c = 0; c < channels_; ++c) output[c] = input[winners[c]];
  }

  const bool is_maximum_;
  const int64_t examples_;
  const int64_t channels_;
  const int64_t input_count_;
  const int64_t output_count_;
  // By place of the output.
  std::vector<Window> windows_;
  // Of the last Forward: for each element of the output, the largest element of its example.
  std::vector<int64_t> winners_;
};

}  // namespace

std::unique_ptr<Kernel> CreateAdaptivePoolingKernel(const Layer& layer,
                                                    const KernelContext& context) {
  return std::make_unique<AdaptivePoolingKernel>(static_cast<const AdaptivePoolingLayer&>(layer),
                                                 context);
}

}  // namespace cairn::nn
