#include "tests/nn/reference_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/check.h"
#include "common/random.h"
#include "nn/layers/batch_normalization.h"
#include "nn/layers/concatenate.h"
#include "nn/layers/conv2d.h"
#include "nn/layers/dense.h"
#include "nn/layers/dropout.h"
#include "nn/layers/embedding.h"
#include "nn/layers/pooling2d.h"

namespace cairn::nn::testing {
namespace {

// One layer's view of the batch.
struct Call {
  const ReferenceBatch& batch;
  std::vector<const Doubles*> inputs;
  std::vector<const Doubles*> variables;
};

double Apply(const Activation& a, double x) {
  using Kind = Activation::Kind;
  const double sigmoid = 1 / (1 + std::exp(-x));
  switch (a.kind) {
    case Kind::kRelu:
      if (a.has_max_value && x >= a.max_value) return a.max_value;
      return x >= a.threshold ? x : a.slope * (x - a.threshold);
    case Kind::kSigmoid:
      return sigmoid;
    case Kind::kHardSigmoid:
      return std::min(std::max(x + 3, 0.0), 6.0) / 6;
    case Kind::kTanh:
      return std::tanh(x);
    case Kind::kSoftplus:
      return std::log(1 + std::exp(x));
    case Kind::kSoftsign:
      return x / (1 + std::fabs(x));
    case Kind::kElu:
      return x > 0 ? x : a.slope * (std::exp(x) - 1);
    case Kind::kSelu:
      return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * (std::exp(x) - 1));
    case Kind::kGelu:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Kind::kSwish:
      return x * sigmoid;
    case Kind::kExponential:
      return std::exp(x);
    default:
      return x;
  }
}

Doubles Dense(const DenseLayer& layer, const Call& call) {
  const int64_t width = layer.input_width();
  const int64_t units = layer.units();
  const Doubles& input = *call.inputs[0];
  Doubles output;
  for (size_t row = 0; row < input.size() / width; ++row) {
    for (int64_t unit = 0; unit < units; ++unit) {
      double sum = layer.use_bias() ? (*call.variables[1])[unit] : 0;
      for (int64_t i = 0; i < width; ++i) {
        sum += input[row * width + i] * (*call.variables[0])[i * units + unit];
      }
      output.push_back(sum);
    }
  }
  return ReferenceActivation(layer.activation(), units, output);
}

// Calls `visit(input_row, input_column, window_row, window_column)` for every element of the window
// at an output position that lies inside the image.
template <typename Visit>
void VisitWindow(const Window& window, const Shape& input, int64_t row, int64_t column,
                 const Visit& visit) {
  for (int64_t i = 0; i < window.size[0]; ++i) {
    for (int64_t j = 0; j < window.size[1]; ++j) {
      const int64_t y = row * window.strides[0] - window.padding_before[0] + i * window.dilation[0];
      const int64_t x =
          column * window.strides[1] - window.padding_before[1] + j * window.dilation[1];
      if (y >= 0 && y < input[0] && x >= 0 && x < input[1]) visit(y, x, i, j);
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

double Pixel(const Doubles& images, const Shape& shape, int64_t example, int64_t row,
             int64_t column, int64_t channel) {
  return images[((example * shape[0] + row) * shape[1] + column) * shape[2] + channel];
}

Doubles Convolution(const Conv2DLayer& layer, const Call& call) {
  const Shape& input = layer.inputs()[0].shape;
  const int64_t filters = layer.output().shape[2];
  const int64_t group_channels = input[2] / layer.groups();
  const int64_t group_filters = filters / layer.groups();
  const Doubles& kernel = *call.variables[0];
  const auto compute = [&](int64_t example, int64_t row, int64_t column, int64_t filter) {
    double sum = layer.use_bias() ? (*call.variables[1])[filter] : 0;
    VisitWindow(layer.window(), input, row, column,
                [&](int64_t y, int64_t x, int64_t i, int64_t j) {
                  for (int64_t c = 0; c < group_channels; ++c) {
                    const int64_t channel = filter / group_filters * group_channels + c;
                    const int64_t at =
                        ((i * layer.window().size[1] + j) * group_channels + c) * filters + filter;
                    sum += kernel[at] * Pixel(*call.inputs[0], input, example, y, x, channel);
                  }
                });
    return sum;
  };
  return ReferenceActivation(layer.activation(), filters,
                             ForEachPixel(call.batch.size, layer.output().shape, compute));
}

Doubles Pooling(const Pooling2DLayer& layer, const Call& call) {
  const Shape& input = layer.inputs()[0].shape;
  const auto compute = [&](int64_t example, int64_t row, int64_t column, int64_t channel) {
    double maximum = -std::numeric_limits<double>::infinity();
    double sum = 0;
    int64_t count = 0;
    VisitWindow(layer.window(), input, row, column, [&](int64_t y, int64_t x, int64_t, int64_t) {
      const double value = Pixel(*call.inputs[0], input, example, y, x, channel);
      maximum = std::max(maximum, value);
      sum += value;
      ++count;
    });
    return layer.kind() == Pooling2DLayer::Kind::kMaximum ? maximum : sum / count;
  };
  return ForEachPixel(call.batch.size, layer.output().shape, compute);
}

Doubles GlobalAverage(const Layer& layer, const Call& call) {
  const Shape& input = layer.inputs()[0].shape;
  Doubles output(call.batch.size * input[2], 0);
  for (size_t i = 0; i < call.inputs[0]->size(); ++i) {
    const int64_t example = i / ElementCount(input);
    output[example * input[2] + i % input[2]] += (*call.inputs[0])[i] / (input[0] * input[1]);
  }
  return output;
}

Doubles BatchNormalization(const BatchNormalizationLayer& layer, const Call& call) {
  Doubles output = *call.inputs[0];
  const int64_t channels = layer.output().shape.back();
  const double rows = static_cast<double>(output.size() / channels);
  for (int64_t c = 0; c < channels; ++c) {
    double mean = (*call.variables[layer.moving_mean()])[c];
    double variance = (*call.variables[layer.moving_variance()])[c];
    if (call.batch.training && layer.trainable()) {
      mean = variance = 0;
      for (size_t i = c; i < output.size(); i += channels) mean += output[i] / rows;
      for (size_t i = c; i < output.size(); i += channels) {
        variance += (output[i] - mean) * (output[i] - mean) / rows;
      }
    }
    const double gamma = layer.gamma() < 0 ? 1 : (*call.variables[layer.gamma()])[c];
    const double beta = layer.beta() < 0 ? 0 : (*call.variables[layer.beta()])[c];
    for (size_t i = c; i < output.size(); i += channels) {
      output[i] = (output[i] - mean) / std::sqrt(variance + layer.epsilon()) * gamma + beta;
    }
  }
  return output;
}

Doubles Dropout(const DropoutLayer& layer, const Call& call) {
  Doubles output = *call.inputs[0];
  if (!call.batch.training) return output;
  const uint64_t key = DeriveKey(call.batch.random_key, layer.name());
  for (size_t i = 0; i < output.size(); ++i) {
    output[i] *= RandomUniform(key, i) < layer.rate() ? 0 : 1 / (1 - layer.rate());
  }
  return output;
}

Doubles Embedding(const EmbeddingLayer& layer, const Call& call) {
  Doubles output;
  for (double id : *call.inputs[0]) {
    for (int64_t c = 0; c < layer.width(); ++c) {
      output.push_back((*call.variables[0])[static_cast<int64_t>(id) * layer.width() + c]);
    }
  }
  return output;
}

Doubles Concatenate(const ConcatenateLayer& layer, const Call& call) {
  int64_t rows = call.batch.size;
  for (int64_t i = 0; i < layer.axis(); ++i) rows *= layer.output().shape[i];
  Doubles output;
  for (int64_t row = 0; row < rows; ++row) {
    for (const Doubles* input : call.inputs) {
      const int64_t width = input->size() / rows;
      output.insert(output.end(), input->begin() + row * width, input->begin() + (row + 1) * width);
    }
  }
  return output;
}

Doubles Add(const Call& call) {
  Doubles output(call.inputs[0]->size(), 0);
  for (const Doubles* input : call.inputs) {
    for (size_t i = 0; i < output.size(); ++i) output[i] += (*input)[i];
  }
  return output;
}

Doubles Compute(const Layer& layer, const Call& call) {
  if (const auto* dense = dynamic_cast<const DenseLayer*>(&layer)) return Dense(*dense, call);
  if (const auto* conv = dynamic_cast<const Conv2DLayer*>(&layer)) return Convolution(*conv, call);
  if (const auto* pool = dynamic_cast<const Pooling2DLayer*>(&layer)) return Pooling(*pool, call);
  if (const auto* norm = dynamic_cast<const BatchNormalizationLayer*>(&layer)) {
    return BatchNormalization(*norm, call);
  }
  if (const auto* drop = dynamic_cast<const DropoutLayer*>(&layer)) return Dropout(*drop, call);
  if (const auto* table = dynamic_cast<const EmbeddingLayer*>(&layer)) {
    return Embedding(*table, call);
  }
  if (const auto* join = dynamic_cast<const ConcatenateLayer*>(&layer)) {
    return Concatenate(*join, call);
  }
  if (layer.class_name() == "Add") return Add(call);
  if (layer.class_name() == "GlobalAveragePooling2D") return GlobalAverage(layer, call);
  if (layer.is_view()) return *call.inputs[0];
  // What is left is an activation.
  CAIRN_CHECK(layer.variables().empty() && call.inputs.size() == 1);
  return ReferenceActivation(layer.activation(), layer.output().shape.back(), *call.inputs[0]);
}

}  // namespace

Doubles ReferenceActivation(const Activation& activation, int64_t width, Doubles values) {
  if (activation.kind != Activation::Kind::kSoftmax) {
    for (double& value : values) value = Apply(activation, value);
    return values;
  }
  for (size_t row = 0; row < values.size(); row += width) {
    double sum = 0;
    for (int64_t i = 0; i < width; ++i) sum += std::exp(values[row + i]);
    for (int64_t i = 0; i < width; ++i) values[row + i] = std::exp(values[row + i]) / sum;
  }
  return values;
}

Doubles ReferenceOutput(const Model& model, const ReferenceBatch& batch) {
  std::vector<Doubles> outputs(model.nodes().size());
  for (size_t i = 0; i < model.input_nodes().size(); ++i) {
    outputs[model.input_nodes()[i]] = batch.inputs[i];
  }
  for (size_t i = 0; i < model.nodes().size(); ++i) {
    const Model::Node& node = model.nodes()[i];
    if (node.inputs.empty()) continue;
    Call call{.batch = batch};
    for (int input : node.inputs) call.inputs.push_back(&outputs[input]);
    for (size_t v = 0; v < node.layer->variables().size(); ++v) {
      call.variables.push_back(&batch.variables[node.first_variable + v]);
    }
    outputs[i] = Compute(*node.layer, call);
  }
  return outputs[model.output_node()];
}

double ReferencePenalty(const Model& model, const std::vector<Doubles>& variables) {
  double penalty = 0;
  for (const Model::Node& node : model.nodes()) {
    for (size_t v = 0; v < node.layer->variables().size(); ++v) {
      const Regularizer& regularizer = node.layer->variables()[v].regularizer;
      if (!node.layer->trainable()) continue;
      for (double value : variables[node.first_variable + v]) {
        penalty += regularizer.l1 * std::fabs(value) + regularizer.l2 * value * value;
      }
    }
  }
  return penalty;
}

}  // namespace cairn::nn::testing
