// Convolutions against plain loops, in the sizes that the conformance suite of
// layers does not have: four channels at a time, many blocks, and an unfolded
// matrix of many pieces.

#include "nn/cuda/convolution.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "common/random.h"
#include "gtest/gtest.h"

namespace cairn::nn::cuda {
namespace {

struct Case {
  std::string name;
  Convolution::Options options;
};

std::vector<float> Draw(uint64_t key, int64_t count) {
  std::vector<float> values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = 2 * RandomUniform(key, i) - 1;
  return values;
}

// (depth, height, width, channels)
Shape VolumeOf(const Shape &s) { return s.size() == 3 ? Shape{1, s[0], s[1], s[2]} : s; }

// Calls visit(input element, kernel element, output element) for each product
// of the convolution.
template <typename Visit>
void ForEachProduct(const Convolution::Options &o, const Visit &visit) {
  const Window &w = o.window;
  const Window &d = o.depth_window;
  const Shape in = VolumeOf(o.input);
  const Shape out = VolumeOf(o.output);
  const int64_t channels = in[3] / o.groups;
  const int64_t filters = out[3] / o.groups;
  const auto at = [](int64_t place, int64_t element, const Window &window, int axis) {
    return place * window.strides[axis] - window.padding_before[axis] +
           element * window.dilation[axis];
  };
  const auto visit_pixel = [&](int64_t input_pixel, int64_t place, int64_t output_pixel) {
    for (int64_t f = 0; f < out[3]; ++f) {
      for (int64_t c = 0; c < channels; ++c) {
        visit(input_pixel * in[3] + f / filters * channels + c, (place * channels + c) * out[3] + f,
              output_pixel * out[3] + f);
      }
    }
  };
  const auto visit_window = [&](int64_t e, int64_t z, int64_t y, int64_t x) {
    for (int64_t kz = 0; kz < d.size[0]; ++kz) {
      for (int64_t ky = 0; ky < w.size[0]; ++ky) {
        for (int64_t kx = 0; kx < w.size[1]; ++kx) {
          const int64_t plane = at(z, kz, d, 0), row = at(y, ky, w, 0), column = at(x, kx, w, 1);
          if (plane < 0 || plane >= in[0] || row < 0 || row >= in[1] || column < 0 ||
              column >= in[2]) {
            continue;
          }
          visit_pixel(((e * in[0] + plane) * in[1] + row) * in[2] + column,
                      (kz * w.size[0] + ky) * w.size[1] + kx,
                      ((e * out[0] + z) * out[1] + y) * out[2] + x);
        }
      }
    }
  };
  for (int64_t e = 0; e < o.examples; ++e) {
    for (int64_t z = 0; z < out[0]; ++z) {
      for (int64_t y = 0; y < out[1]; ++y) {
        for (int64_t x = 0; x < out[2]; ++x) visit_window(e, z, y, x);
      }
    }
  }
}

// `values` in device memory.
std::unique_ptr<DeviceArray<float>> OnDevice(Context *context, const std::vector<float> &values) {
  auto array = std::make_unique<DeviceArray<float>>(context, values.size());
  context->Upload(array->data(), values);
  return array;
}

void ExpectNear(Context *context, const DeviceArray<float> &computed,
                const std::vector<double> &expected) {
  std::vector<float> values(expected.size());
  ASSERT_TRUE(context->copies().FromDevice(values.data(), computed.data(), values.size() * 4).ok());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(values[i], expected[i], 1e-5 * std::max(1.0, std::fabs(expected[i]))) << i;
  }
}

// Of a window.
int64_t Places(const Convolution::Options &o) {
  return o.depth_window.size[0] * o.window.size[0] * o.window.size[1];
}

void ExpectPlainLoops(const Convolution::Options &o) {
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  const auto context = *Context::Create("the stand-in");
  Convolution convolution(o, context.get());
  const std::vector<float> input = Draw(1, o.examples * ElementCount(o.input));
  const std::vector<float> kernel =
      Draw(2, Places(o) * o.input.back() / o.groups * o.output.back());
  const std::vector<float> gradient = Draw(3, o.examples * ElementCount(o.output));
  std::vector<double> outputs(gradient.size()), by_input(input.size()), by_kernel(kernel.size());
  ForEachProduct(o, [&](int64_t i, int64_t k, int64_t f) {
    outputs[f] += double{input[i]} * kernel[k];
    by_input[i] += double{gradient[f]} * kernel[k];
    by_kernel[k] += double{gradient[f]} * input[i];
  });

  const auto device_input = OnDevice(context.get(), input);
  const auto device_kernel = OnDevice(context.get(), kernel);
  const auto device_gradient = OnDevice(context.get(), gradient);
  const DeviceArray<float> output(context.get(), outputs.size());
  const DeviceArray<float> input_gradient(context.get(), input.size());
  const DeviceArray<float> kernel_gradient(context.get(), kernel.size());
  convolution.Forward(device_input->data(), device_kernel->data(), output.data());
  convolution.KernelGradient(device_input->data(), device_gradient->data(), kernel_gradient.data());
  convolution.InputGradient(device_gradient->data(), device_kernel->data(), input_gradient.data());
  EXPECT_TRUE(context->TakeError().ok());
  ExpectNear(context.get(), output, outputs);
  ExpectNear(context.get(), kernel_gradient, by_kernel);
  ExpectNear(context.get(), input_gradient, by_input);
}

// Convolutions of all kinds: whole and odd numbers of channels, groups, strides
// beyond the window.
std::vector<Case> Kinds() {
  const auto of = [](int64_t examples, Shape input, Shape output, std::array<int64_t, 2> size,
                     int64_t groups) {
    return Convolution::Options{.examples = examples,
                                .input = input,
                                .output = output,
                                .window = {.size = size, .padding_before = {1, 1}},
                                .groups = groups};
  };
  std::vector<Case> all = {
      {"FourChannels", of(3, {7, 6, 8}, {7, 6, 5}, {3, 3}, 1)},
      {"ThreeChannels", of(3, {7, 6, 3}, {7, 6, 5}, {3, 3}, 1)},
      {"Grouped", of(3, {7, 6, 8}, {7, 6, 6}, {3, 3}, 2)},
      {"GroupedPixels", of(3, {5, 3, 8}, {5, 3, 6}, {1, 1}, 2)},
      {"Depthwise", of(3, {7, 6, 8}, {7, 6, 8}, {3, 3}, 8)},
      {"DepthwiseOfOddChannels", of(3, {7, 6, 5}, {7, 6, 5}, {3, 3}, 5)},
      {"DepthwiseMultiplied", of(3, {7, 6, 4}, {7, 6, 12}, {3, 3}, 4)},
      {"DepthwiseLargeWindow", of(3, {7, 6, 8}, {5, 2, 8}, {5, 7}, 8)},
      {"DepthwiseManyPieces", of(9, {19, 18, 4}, {19, 18, 4}, {3, 3}, 4)},
  };
  all[3].options.window.padding_before = {0, 0};
  for (const int kind : {0, 1, 2, 4}) {
    Case strided = all[kind];
    strided.name += "Strided";
    strided.options.window.strides = {2, 4};
    strided.options.output = {4, 2, strided.options.output[2]};
    all.push_back(strided);
    Case dilated = all[kind];
    dilated.name += "Dilated";
    dilated.options.window.dilation = {3, 2};
    dilated.options.output = {3, 4, dilated.options.output[2]};
    all.push_back(dilated);
  }
  for (const int64_t channels : {4, 3}) {
    Case volume = {"VolumeOf" + std::to_string(channels),
                   of(5, {5, 6, 5, channels}, {3, 6, 5, 6}, {3, 3}, 1)};
    volume.options.depth_window = {.size = {3, 1}, .strides = {2, 1}, .padding_before = {1, 0}};
    all.push_back(volume);
  }
  return all;
}

// As in one piece, pieces of two examples, of two lines, and of one line.
std::vector<Case> Cases() {
  std::vector<Case> all;
  for (const Case &kind : Kinds()) {
    const Convolution::Options &o = kind.options;
    all.push_back(kind);
    if (o.groups == o.input.back()) continue;
    const Shape output = VolumeOf(o.output);
    const int64_t line = output[2] * Places(o) * o.input.back() * 4;
    for (const int64_t lines : {2 * output[0] * output[1] + 1, int64_t{2}, int64_t{0}}) {
      Case pieces = kind;
      pieces.name += "PiecesOf" + std::to_string(lines);
      pieces.options.scratch_bytes_max = lines * line;
      all.push_back(pieces);
    }
  }
  return all;
}

class CudaConvolutionTest : public ::testing::TestWithParam<Case> {};

TEST_P(CudaConvolutionTest, IsThatOfPlainLoops) { ExpectPlainLoops(GetParam().options); }

INSTANTIATE_TEST_SUITE_P(All, CudaConvolutionTest, ::testing::ValuesIn(Cases()),
                         [](const auto &info) { return info.param.name; });

}  // namespace
}  // namespace cairn::nn::cuda
