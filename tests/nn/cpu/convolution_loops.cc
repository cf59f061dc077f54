#include "tests/nn/cpu/convolution_loops.h"

#include <algorithm>
#include <cmath>

#include "common/random.h"
#include "gtest/gtest.h"

namespace cairn::nn::testing {
namespace {

std::vector<float> Draw(uint64_t key, int64_t count) {
  std::vector<float> values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = 2 * RandomUniform(key, i) - 1;
  return values;
}

int64_t KernelCount(const Convolution::Options& o) {
  return o.window.size[0] * o.window.size[1] * (o.input[2] / o.groups) * o.output[2];
}

// Calls work(input element, kernel element, output element) for each multiplication.
template <typename Work>
void ForEachProduct(const Convolution::Options& o, const Work& work) {
  const int64_t channels = o.input[2] / o.groups;
  const int64_t filters = o.output[2] / o.groups;
  for (int64_t out = 0; out < o.examples * ElementCount(o.output); ++out) {
    const int64_t f = out % o.output[2];
    const int64_t x = out / o.output[2] % o.output[1];
    const int64_t y = out / (o.output[2] * o.output[1]) % o.output[0];
    const int64_t example = out / ElementCount(o.output);
    for (int64_t k = 0; k < o.window.size[0] * o.window.size[1]; ++k) {
      const Window& w = o.window;
      const int64_t row = y * w.strides[0] + k / w.size[1] * w.dilation[0] - w.padding_before[0];
      const int64_t column = x * w.strides[1] + k % w.size[1] * w.dilation[1] - w.padding_before[1];
      if (row < 0 || row >= o.input[0] || column < 0 || column >= o.input[1]) continue;
      for (int64_t i = 0; i < channels; ++i) {
        const int64_t channel = f / filters * channels + i;
        work(((example * o.input[0] + row) * o.input[1] + column) * o.input[2] + channel,
             (k * channels + i) * o.output[2] + f, out);
      }
    }
  }
}

// Accumulates one element of a result and the sum of magnitudes of its terms.
struct Sums {
  explicit Sums(int64_t count) : values(count), reaches(count) {}
  void Add(int64_t i, double a, double b) {
    values[i] += a * b;
    reaches[i] += std::fabs(a * b);
  }
  double reach() const { return *std::max_element(reaches.begin(), reaches.end()); }

  std::vector<double> values;
  std::vector<double> reaches;
};

void ExpectClose(const std::vector<float>& got, const std::vector<double>& expected,
                 double tolerance, const char* what) {
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i) worst = std::max(worst, std::fabs(got[i] - expected[i]));
  EXPECT_LE(worst, tolerance) << what;
}

}  // namespace

ConvolutionData::ConvolutionData(const Convolution::Options& o)
    : input(Draw(1, o.examples * ElementCount(o.input))),
      kernel(Draw(2, KernelCount(o))),
      bias(Draw(3, o.output[2])),
      output_gradient(Draw(4, o.examples * ElementCount(o.output))) {}

LoopProducts ComputeByLoops(const Convolution::Options& o, const ConvolutionData& data) {
  Sums forward(data.output_gradient.size());
  Sums kernel(data.kernel.size());
  Sums input(data.input.size());
  ForEachProduct(o, [&](int64_t from, int64_t weight, int64_t to) {
    forward.Add(to, data.input[from], data.kernel[weight]);
    kernel.Add(weight, data.input[from], data.output_gradient[to]);
    input.Add(from, data.output_gradient[to], data.kernel[weight]);
  });
  for (size_t i = 0; i < forward.values.size(); ++i) {
    if (o.adds_bias) forward.values[i] += data.bias[i % o.output[2]];
    if (o.applies_relu) forward.values[i] = std::max(forward.values[i], 0.0);
  }
  return {forward.values,  kernel.values,  input.values,
          forward.reach(), kernel.reach(), input.reach()};
}

void ExpectProducts(const Convolution::Options& o, Convolution* convolution, double tolerance) {
  const ConvolutionData data(o);
  const LoopProducts expected = ComputeByLoops(o, data);
  std::vector<float> output(data.output_gradient.size());
  convolution->Forward(data.input.data(), data.kernel.data(), data.bias.data(), output.data());
  ExpectClose(output, expected.forward, tolerance * expected.forward_reach, "forward");
  if (!o.training) return;
  std::vector<float> kernel(data.kernel.size());
  convolution->KernelGradient(data.input.data(), data.output_gradient.data(), kernel.data());
  ExpectClose(kernel, expected.kernel_gradient, tolerance * expected.kernel_reach, "kernel");
  if (!o.needs_input_gradient) return;
  std::vector<float> input(data.input.size());
  convolution->InputGradient(data.output_gradient.data(), data.kernel.data(), input.data());
  ExpectClose(input, expected.input_gradient, tolerance * expected.input_reach, "input");
}

Convolution::Options SameConvolution(int64_t examples, int64_t side, int64_t channels,
                                     int64_t filters, int64_t size, int64_t groups) {
  Convolution::Options o = {.examples = examples,
                            .input = {side, side, channels},
                            .output = {side, side, filters},
                            .groups = groups,
                            .training = true};
  o.window.size = {size, size};
  o.window.padding_before = o.window.padding_after = {size / 2, size / 2};
  o.window.output = {side, side};
  return o;
}

}  // namespace cairn::nn::testing
