// Reference implementations of layers that slide windows over images: convolution and pooling.

#include <algorithm>
#include <limits>

#include "nn/layers/conv2d.h"
#include "nn/layers/conv2d_transpose.h"
#include "nn/layers/conv_lstm.h"
#include "nn/layers/global_pooling.h"
#include "nn/layers/pooling2d.h"
#include "nn/layers/separable_conv2d.h"
#include "tests/nn/reference_layers.h"

namespace cairn::nn::testing {
namespace {

// Calls `visit(image_row, image_column, window_row, window_column)` for each element of the window
// at a position that is inside the image.
template <typename Visit>
void VisitWindow(const Window& window, const Shape& image, int64_t row, int64_t column,
                 const Visit& visit) {
  for (int64_t i = 0; i < window.size[0]; ++i) {
    for (int64_t j = 0; j < window.size[1]; ++j) {
      const int64_t y = row * window.strides[0] - window.padding_before[0] + i * window.dilation[0];
      const int64_t x =
          column * window.strides[1] - window.padding_before[1] + j * window.dilation[1];
      if (y >= 0 && y < image[0] && x >= 0 && x < image[1]) visit(y, x, i, j);
    }
  }
}

// Calls `compute(example, row, column, channel)` for every element of the output, in order.
template <typename Compute>
Doubles ForEachPixel(int64_t examples, const Shape& output, const Compute& compute) {
  Doubles values;
  for (int64_t example = 0; example < examples; ++example) {
    for (int64_t row = 0; row < output[0]; ++row) {
      for (int64_t column = 0; column < output[1]; ++column) {
        for (int64_t channel = 0; channel < output[2]; ++channel) {
          values.push_back(compute(example, row, column, channel));
        }
      }
    }
  }
  return values;
}

int64_t At(const Shape& shape, int64_t example, int64_t row, int64_t column, int64_t channel) {
  return ((example * shape[0] + row) * shape[1] + column) * shape[2] + channel;
}

// A convolution without bias and activation. The kernel is (height, width, channels of a group,
// filters).
struct Geometry {
  Window window;
  Shape input;
  Shape output;
  int64_t groups = 1;
};
Doubles Convolve(const Geometry& g, int64_t examples, const Doubles& images,
                 const Doubles& kernel) {
  const int64_t filters = g.output[2];
  const int64_t group_channels = g.input[2] / g.groups;
  const int64_t group_filters = filters / g.groups;
  return ForEachPixel(
      examples, g.output, [&](int64_t example, int64_t row, int64_t column, int64_t filter) {
        double sum = 0;
        VisitWindow(g.window, g.input, row, column,
                    [&](int64_t y, int64_t x, int64_t i, int64_t j) {
                      for (int64_t c = 0; c < group_channels; ++c) {
                        const int64_t channel = filter / group_filters * group_channels + c;
                        const int64_t at =
                            ((i * g.window.size[1] + j) * group_channels + c) * filters + filter;
                        sum += kernel[at] * images[At(g.input, example, y, x, channel)];
                      }
                    });
        return sum;
      });
}

Doubles AddBiasAndActivate(const ReferenceCall& call, size_t bias, Doubles values) {
  const int64_t filters = call.layer.output().shape.back();
  for (size_t i = 0; bias < call.variables.size() && i < values.size(); ++i) {
    values[i] += (*call.variables[bias])[i % filters];
  }
  return ReferenceActivation(call.layer.activation(), filters, std::move(values));
}

}  // namespace

Doubles ReferenceConvolution(const ReferenceCall& call) {
  const auto& layer = static_cast<const Conv2DLayer&>(call.layer);
  const Geometry geometry = {layer.window(), layer.input_image(), layer.output_image(),
                             layer.groups()};
  return AddBiasAndActivate(
      call, 1, Convolve(geometry, call.batch.size, *call.inputs[0], *call.variables[0]));
}

// Each pixel of the input adds a scaled kernel to the output.
Doubles ReferenceTransposedConvolution(const ReferenceCall& call) {
  const auto& layer = static_cast<const Conv2DTransposeLayer&>(call.layer);
  const Shape input = layer.input_image();
  const Shape output = layer.output_image();
  const Window& window = layer.window();
  Doubles values(call.batch.size * ElementCount(output), 0);
  ForEachPixel(
      call.batch.size, input, [&](int64_t example, int64_t row, int64_t column, int64_t channel) {
        const double pixel = (*call.inputs[0])[At(input, example, row, column, channel)];
        VisitWindow(window, output, row, column, [&](int64_t y, int64_t x, int64_t i, int64_t j) {
          for (int64_t filter = 0; filter < output[2]; ++filter) {
            const int64_t at = ((i * window.size[1] + j) * output[2] + filter) * input[2] + channel;
            values[At(output, example, y, x, filter)] += pixel * (*call.variables[0])[at];
          }
        });
        return 0.0;
      });
  return AddBiasAndActivate(call, 1, std::move(values));
}

Doubles ReferenceConvLstm(const ReferenceCall& call) {
  const auto& layer = static_cast<const ConvLstmLayer&>(call.layer);
  const RecurrentPass& cell = layer.cell();
  const int64_t filters = cell.units;
  Shape gates = layer.output_image();
  gates[2] = 4 * filters;
  const int64_t input_size = ElementCount(layer.input_image());
  const int64_t state_size = ElementCount(layer.output_image());
  const auto squash = [](const Activation& activation, double x) {
    return ReferenceActivation(activation, 1, {x})[0];
  };
  Doubles output;
  for (int64_t example = 0; example < call.batch.size; ++example) {
    Doubles h(state_size, 0);
    Doubles c(state_size, 0);
    for (int64_t i = 0; i < cell.steps; ++i) {
      const int64_t step = cell.goes_backwards ? cell.steps - 1 - i : i;
      const auto image = call.inputs[0]->begin() + (example * cell.steps + step) * input_size;
      const Doubles from_input = Convolve({layer.window(), layer.input_image(), gates, 1}, 1,
                                          Doubles(image, image + input_size), *call.variables[0]);
      const Doubles from_state = Convolve(
          {layer.recurrent_window(), layer.output_image(), gates, 1}, 1, h, *call.variables[1]);
      for (int64_t u = 0; u < state_size; ++u) {
        const auto gate = [&](int64_t index, const Activation& activation) {
          const int64_t column = index * filters + u % filters;
          const int64_t at = u / filters * 4 * filters + column;
          const double bias = cell.use_bias ? (*call.variables[2])[column] : 0;
          return squash(activation, from_input[at] + from_state[at] + bias);
        };
        c[u] = gate(1, cell.recurrent_activation) * c[u] +
               gate(0, cell.recurrent_activation) * gate(2, cell.activation);
        h[u] = gate(3, cell.recurrent_activation) * squash(cell.activation, c[u]);
      }
      if (layer.returns_sequences() || i + 1 == cell.steps) {
        output.insert(output.end(), h.begin(), h.end());
      }
    }
  }
  return output;
}

Doubles ReferenceSeparableConvolution(const ReferenceCall& call) {
  const auto& layer = static_cast<const SeparableConv2DLayer&>(call.layer);
  const Shape input = layer.input_image();
  const int64_t multiplier = call.layer.variables()[0].spec.shape.back();
  const Shape between = {layer.output_image()[0], layer.output_image()[1], input[2] * multiplier};
  const Doubles depthwise = Convolve({layer.window(), input, between, input[2]}, call.batch.size,
                                     *call.inputs[0], *call.variables[0]);
  return AddBiasAndActivate(call, 2,
                            Convolve({Window(), between, layer.output_image(), 1}, call.batch.size,
                                     depthwise, *call.variables[1]));
}

Doubles ReferencePooling(const ReferenceCall& call) {
  const auto& layer = static_cast<const Pooling2DLayer&>(call.layer);
  const Shape input = layer.input_image();
  return ForEachPixel(
      call.batch.size, layer.output_image(),
      [&](int64_t example, int64_t row, int64_t column, int64_t channel) {
        double maximum = -std::numeric_limits<double>::infinity();
        double sum = 0;
        int64_t count = 0;
        VisitWindow(layer.window(), input, row, column,
                    [&](int64_t y, int64_t x, int64_t, int64_t) {
                      const double value = (*call.inputs[0])[At(input, example, y, x, channel)];
                      maximum = std::max(maximum, value);
                      sum += value;
                      ++count;
                    });
        return layer.kind() == Pooling2DLayer::Kind::kMaximum ? maximum : sum / count;
      });
}

Doubles ReferenceGlobalPooling(const ReferenceCall& call) {
  const auto& layer = static_cast<const GlobalPoolingLayer&>(call.layer);
  const int64_t channels = layer.output().shape.back();
  const int64_t positions = ElementCount(layer.inputs()[0].shape) / channels;
  const Doubles* mask = call.masks.empty() ? nullptr : call.masks[0];
  Doubles output;
  for (int64_t example = 0; example < call.batch.size; ++example) {
    for (int64_t channel = 0; channel < channels; ++channel) {
      double maximum = -std::numeric_limits<double>::infinity();
      double sum = 0;
      int64_t count = 0;
      for (int64_t position = 0; position < positions; ++position) {
        const int64_t step = example * positions + position;
        if (mask != nullptr && (*mask)[step] == 0) continue;
        const double value = (*call.inputs[0])[step * channels + channel];
        maximum = std::max(maximum, value);
        sum += value;
        ++count;
      }
      const bool is_maximum = layer.kind() == GlobalPoolingLayer::Kind::kMaximum;
      output.push_back(is_maximum ? maximum : count == 0 ? 0 : sum / count);
    }
  }
  return output;
}

}  // namespace cairn::nn::testing
