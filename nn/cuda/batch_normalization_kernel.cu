#include "nn/cuda/kernels.h"
#include "nn/cuda/loops.h"
#include "nn/layers/batch_normalization.h"

namespace cairn::nn::cuda {
namespace {

// The mean and the biased variance of each channel. The first value of a channel is subtracted from
// the others, so that a mean far from 0 costs no digits.
void MeasureBatch(Context* context, int64_t rows, int64_t channels, const float* x, float* mean,
                  float* variance) {
  const double count = static_cast<double>(rows);
  SumColumns<2>(
      context, rows, channels,
      [=] __device__(int64_t row, int64_t c, ColumnSums<2> * sums) {
        const double difference = static_cast<double>(x[row * channels + c]) - x[c];
        sums->values[0] += difference;
        sums->values[1] += difference * difference;
      },
      [=] __device__(int64_t c, const ColumnSums<2>& sums) {
        const double shift = sums.values[0] / count;
        mean[c] = static_cast<float>(x[c] + shift);
        variance[c] = static_cast<float>(fmax(sums.values[1] / count - shift * shift, 0.0));
      });
}

// y = (x - mean) / sqrt(variance + epsilon) * gamma + beta. A null gamma means 1, a null beta 0.
void Normalize(Context* context, int64_t rows, int64_t channels, double epsilon, const float* x,
               const float* mean, const float* variance, const float* gamma, const float* beta,
               float* y) {
  ForEach(context, rows * channels, [=] __device__(int64_t i) {
    const int64_t c = i % channels;
    const float inverse = static_cast<float>(1 / sqrt(variance[c] + epsilon));
    const float scale = gamma == nullptr ? inverse : inverse * gamma[c];
    y[i] = (x[i] - mean[c]) * scale + (beta == nullptr ? 0 : beta[c]);
  });
}

// The gradients of the variables. Null: not needed.
struct VariableGradients {
  float* gamma = nullptr;
  float* beta = nullptr;
  // Those of the moving statistics are the batch's.
  float* mean = nullptr;
  float* variance = nullptr;
};

// Writes sum(g) and sum(g (x - mean)) of each channel to `sums`, and the gradients of the
// variables.
void SumGradients(Context* context, int64_t rows, int64_t channels, double epsilon, const float* x,
                  const float* mean, const float* variance, const float* gradient, double* sums,
                  const VariableGradients& variables) {
  SumColumns<2>(
      context, rows, channels,
      [=] __device__(int64_t row, int64_t c, ColumnSums<2> * terms) {
        const double g = gradient[row * channels + c];
        terms->values[0] += g;
        terms->values[1] += g * (static_cast<double>(x[row * channels + c]) - mean[c]);
      },
      [=] __device__(int64_t c, const ColumnSums<2>& totals) {
        sums[2 * c] = totals.values[0];
        sums[2 * c + 1] = totals.values[1];
        const double inverse = 1 / sqrt(variance[c] + epsilon);
        if (variables.gamma != nullptr) {
          variables.gamma[c] = static_cast<float>(totals.values[1] * inverse);
        }
        if (variables.beta != nullptr) variables.beta[c] = static_cast<float>(totals.values[0]);
        if (variables.mean != nullptr) variables.mean[c] = mean[c];
        if (variables.variance != nullptr) variables.variance[c] = variance[c];
      });
}

// With d = x - mean, i = 1 / standard deviation and n rows:
//   dx = gamma i (g - sum(g) / n - d i^2 sum(g d) / n)
// With moving statistics (null `sums`), which do not depend on x: dx = gamma i g.
void InputGradient(Context* context, int64_t rows, int64_t channels, double epsilon, const float* x,
                   const float* mean, const float* variance, const float* gamma, const double* sums,
                   const float* gradient, float* to) {
  const double count = static_cast<double>(rows);
  ForEach(context, rows * channels, [=] __device__(int64_t k) {
    const int64_t c = k % channels;
    const double i = 1 / sqrt(variance[c] + epsilon);
    double value = gradient[k];
    if (sums != nullptr) {
      const double deviation = static_cast<double>(x[k]) - mean[c];
      value -= sums[2 * c] / count + deviation * i * i * sums[2 * c + 1] / count;
    }
    to[k] = static_cast<float>(value * i * (gamma == nullptr ? 1 : gamma[c]));
  });
}

class BatchNormalizationKernel final : public Kernel {
 public:
  BatchNormalizationKernel(const BatchNormalizationLayer& layer, const KernelContext& context)
      : context_(context.cuda),
        layer_(layer),
        channels_(layer.output().shape.back()),
        rows_(context.options.examples * ElementCount(layer.output().shape) / channels_),
        mean_(context.cuda, channels_),
        variance_(context.cuda, channels_),
        sums_(context.cuda, 2 * channels_) {
    context.cuda->ReserveScratch(ColumnScratchBytes<2>(rows_, channels_));
  }

  absl::Status Forward(const ForwardArguments& arguments) override {
    if (arguments.training && layer_.uses_batch_statistics()) {
      MeasureBatch(context_, rows_, channels_, arguments.inputs[0], mean_.data(), variance_.data());
    } else {
      CopyStatistics(arguments.variables[layer_.moving_mean()],
                     arguments.variables[layer_.moving_variance()], mean_.data(), variance_.data());
    }
    Normalize(context_, rows_, channels_, layer_.epsilon(), arguments.inputs[0], mean_.data(),
              variance_.data(), VariableOf(arguments.variables, layer_.gamma()),
              VariableOf(arguments.variables, layer_.beta()), arguments.output);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    if (layer_.trainable()) {
      const absl::Span<float* const> gradients = arguments.variable_gradients;
      VariableGradients variables = {.gamma = VariableOf(gradients, layer_.gamma()),
                                     .beta = VariableOf(gradients, layer_.beta())};
      // They are null, too, if the variables are not trained (Executor::Options::trained).
      if (layer_.uses_batch_statistics()) {
        variables.mean = gradients[layer_.moving_mean()];
        variables.variance = gradients[layer_.moving_variance()];
      }
      SumGradients(context_, rows_, channels_, layer_.epsilon(), arguments.inputs[0], mean_.data(),
                   variance_.data(), arguments.output_gradient, sums_.data(), variables);
    }
    if (arguments.input_gradients[0] == nullptr) return;
    InputGradient(context_, rows_, channels_, layer_.epsilon(), arguments.inputs[0], mean_.data(),
                  variance_.data(), VariableOf(arguments.variables, layer_.gamma()),
                  layer_.uses_batch_statistics() ? sums_.data() : nullptr,
                  arguments.output_gradient, arguments.input_gradients[0]);
  }

 private:
  template <typename T>
  static T* VariableOf(absl::Span<T* const> variables, int index) {
    return index < 0 ? nullptr : variables[index];
  }

  void CopyStatistics(const float* mean, const float* variance, float* to_mean,
                      float* to_variance) {
    context_->Copy(to_mean, mean, channels_ * sizeof(float));
    context_->Copy(to_variance, variance, channels_ * sizeof(float));
  }

  Context* const context_;
  const BatchNormalizationLayer& layer_;
  const int64_t channels_;
  const int64_t rows_;
  // Those that the last Forward used.
  DeviceArray<float> mean_;
  DeviceArray<float> variance_;
  // Scratch: two sums for each channel.
  DeviceArray<double> sums_;
};

}  // namespace

std::unique_ptr<Kernel> CreateBatchNormalizationKernel(const Layer& layer,
                                                       const KernelContext& context) {
  return std::make_unique<BatchNormalizationKernel>(
      static_cast<const BatchNormalizationLayer&>(layer), context);
}

}  // namespace cairn::nn::cuda
