// Reference implementations of layers that work on elements, rows and channels.

#include <algorithm>
#include <cmath>

#include "common/random.h"
#include "common/random_normal.h"
#include "nn/layers/affine.h"
#include "nn/layers/batch_normalization.h"
#include "nn/layers/category_encoding.h"
#include "nn/layers/concatenate.h"
#include "nn/layers/dense.h"
#include "nn/layers/discretization.h"
#include "nn/layers/dot.h"
#include "nn/layers/dropout.h"
#include "nn/layers/einsum_dense.h"
#include "nn/layers/embedding.h"
#include "nn/layers/gaussian_noise.h"
#include "nn/layers/layer_normalization.h"
#include "nn/layers/merge.h"
#include "nn/layers/string_lookup.h"
#include "nn/layers/time_distributed.h"
#include "tests/nn/reference_layers.h"

namespace cairn::nn::testing {
namespace {

// The index in a tensor that is broadcast to `output`, for element `at` of one example of the
// output.
int64_t BroadcastElement(const Shape& shape, const Shape& output, int64_t at) {
  int64_t element = 0;
  int64_t stride = 1;
  for (int axis = static_cast<int>(output.size()) - 1; axis >= 0; --axis) {
    if (shape[axis] != 1) element += at % output[axis] * stride;
    at /= output[axis];
    stride *= shape[axis];
  }
  return element;
}

// One value of each input, in order.
double MergeOne(MergeLayer::Kind kind, const Doubles& values) {
  using Kind = MergeLayer::Kind;
  double result = values[0];
  for (size_t i = 1; i < values.size(); ++i) {
    if (kind == Kind::kAdd || kind == Kind::kAverage) result += values[i];
    if (kind == Kind::kSubtract) result -= values[i];
    if (kind == Kind::kMultiply) result *= values[i];
    if (kind == Kind::kMaximum) result = std::max(result, values[i]);
    if (kind == Kind::kMinimum) result = std::min(result, values[i]);
  }
  return kind == Kind::kAverage ? result / static_cast<double>(values.size()) : result;
}

// One example of a Dot's input as vectors along its axis, normalized if requested.
std::vector<Doubles> Vectors(const DotLayer& layer, int side_index, const Doubles& values,
                             int64_t example) {
  const DotLayer::Side& side = layer.sides()[side_index];
  std::vector<Doubles> vectors;
  for (int64_t outer = 0; outer < side.outer; ++outer) {
    for (int64_t inner = 0; inner < side.inner; ++inner) {
      Doubles vector;
      double square = 0;
      for (int64_t i = 0; i < side.length; ++i) {
        const int64_t at = (outer * side.length + i) * side.inner + inner;
        vector.push_back(values[example * side.count() + at]);
        square += vector.back() * vector.back();
      }
      for (double& value : vector) value /= layer.normalizes() ? std::sqrt(square) : 1;
      vectors.push_back(std::move(vector));
    }
  }
  return vectors;
}

}  // namespace

uint64_t ReferenceCall::key() const { return DeriveKey(batch.random_key, layer.name()); }

Doubles ReferenceDense(const ReferenceCall& call) {
  const auto& layer = static_cast<const DenseLayer&>(call.layer);
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

// The sum over all values of all letters, one product at a time.
Doubles ReferenceEinsumDense(const ReferenceCall& call) {
  const auto& layer = static_cast<const EinsumDenseLayer&>(call.layer);
  const EinsumDenseLayer::Equation& equation = layer.equation();
  std::vector<EinsumDenseLayer::Axis> axes;
  for (const auto* group : {&equation.shared, &equation.rows, &equation.inner, &equation.columns}) {
    axes.insert(axes.end(), group->begin(), group->end());
  }
  int64_t products = 1;
  for (const auto& axis : axes) products *= axis.size;
  const Shape& shape = layer.output().shape;
  const int64_t inputs = ElementCount(layer.inputs()[0].shape);
  const int64_t outputs = ElementCount(shape);
  Doubles output(call.batch.size * outputs, 0);
  for (int64_t i = 0; i < call.batch.size * products; ++i) {
    const int64_t example = i / products;
    EinsumDenseLayer::Axis at;
    int64_t rest = i % products;
    for (const auto& axis : axes) {
      at.input_stride += rest % axis.size * axis.input_stride;
      at.kernel_stride += rest % axis.size * axis.kernel_stride;
      at.output_stride += rest % axis.size * axis.output_stride;
      rest /= axis.size;
    }
    output[example * outputs + at.output_stride] +=
        (*call.inputs[0])[example * inputs + at.input_stride] *
        (*call.variables[0])[at.kernel_stride];
  }
  for (size_t i = 0; layer.use_bias() && i < output.size(); ++i) {
    // The bias has the last axes of the output, with length 1 where it is the same.
    Shape bias = layer.variables()[1].spec.shape;
    bias.insert(bias.begin(), shape.size() - bias.size(), 1);
    output[i] += (*call.variables[1])[BroadcastElement(bias, shape, i % outputs)];
  }
  return ReferenceActivation(layer.activation(), shape.back(), output);
}

Doubles ReferenceBatchNormalization(const ReferenceCall& call) {
  const auto& layer = static_cast<const BatchNormalizationLayer&>(call.layer);
  Doubles output = *call.inputs[0];
  const int64_t channels = layer.output().shape.back();
  const double rows = static_cast<double>(output.size() / channels);
  for (int64_t c = 0; c < channels; ++c) {
    double mean = (*call.variables[layer.moving_mean()])[c];
    double variance = (*call.variables[layer.moving_variance()])[c];
    if (call.batch.training && layer.trainable() && !layer.inference_only()) {
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

Doubles ReferenceLayerNormalization(const ReferenceCall& call) {
  using Kind = LayerNormalizationLayer::Kind;
  const auto& layer = static_cast<const LayerNormalizationLayer&>(call.layer);
  Doubles output = *call.inputs[0];
  const int64_t row = layer.groups() * layer.width();
  const int64_t count = layer.positions() * layer.width();
  // The elements of each set: those of one example, or row of it, and group.
  std::vector<std::vector<int64_t>> sets(output.size() / count);
  for (int64_t i = 0; i < static_cast<int64_t>(output.size()); ++i) {
    sets[i / (layer.positions() * row) * layer.groups() + i % row / layer.width()].push_back(i);
  }
  for (const std::vector<int64_t>& set : sets) {
    double mean = 0;
    double squares = 0;
    if (layer.kind() == Kind::kMoments) {
      for (int64_t i : set) mean += output[i] / count;
    }
    for (int64_t i : set) squares += (output[i] - mean) * (output[i] - mean);
    const double deviation = layer.kind() == Kind::kUnit
                                 ? std::max(std::sqrt(squares), 1e-12)
                                 : std::sqrt(squares / count + layer.epsilon());
    for (int64_t i : set) {
      const double gamma = layer.gamma() < 0 ? 1 : (*call.variables[layer.gamma()])[i % row];
      const double beta = layer.beta() < 0 ? 0 : (*call.variables[layer.beta()])[i % row];
      output[i] = (output[i] - mean) / deviation * gamma + beta;
    }
  }
  return output;
}

Doubles ReferencePReLU(const ReferenceCall& call) {
  Doubles output = *call.inputs[0];
  const Shape& shape = call.layer.output().shape;
  for (size_t i = 0; i < output.size(); ++i) {
    const int64_t alpha = BroadcastElement(call.layer.variables()[0].spec.shape, shape,
                                           static_cast<int64_t>(i) % ElementCount(shape));
    if (output[i] < 0) output[i] *= (*call.variables[0])[alpha];
  }
  return output;
}

Doubles ReferenceDropout(const ReferenceCall& call) {
  const auto& layer = static_cast<const DropoutLayer&>(call.layer);
  Doubles output = *call.inputs[0];
  if (!call.batch.training || layer.inference_only()) return output;
  const int64_t channels = layer.output().shape.back();
  const int64_t elements = ElementCount(layer.output().shape);
  for (int64_t i = 0; i < static_cast<int64_t>(output.size()); ++i) {
    const int64_t draw = layer.is_spatial() ? i / elements * channels + i % channels : i;
    const bool drops = RandomUniform(call.key(), draw) < layer.rate();
    if (layer.is_alpha()) {
      // Klambauer et al. 2017: mean and variance stay.
      const double low = -1.6732632423543772 * 1.0507009873554805;
      const double a = 1 / std::sqrt((1 - layer.rate()) * (1 + layer.rate() * low * low));
      output[i] = a * (drops ? low : output[i]) - a * low * layer.rate();
    } else {
      output[i] *= drops ? 0 : 1 / (1 - layer.rate());
    }
  }
  return output;
}

Doubles ReferenceGaussianNoise(const ReferenceCall& call) {
  const auto& layer = static_cast<const GaussianNoiseLayer&>(call.layer);
  Doubles output = *call.inputs[0];
  for (size_t i = 0; call.batch.training && i < output.size(); ++i) {
    const double noise = layer.stddev() * RandomNormal(call.key(), 2 * i);
    output[i] = layer.multiplies() ? output[i] * (1 + noise) : output[i] + noise;
  }
  return output;
}

Doubles ReferenceTimeDistributed(const ReferenceCall& call) {
  const auto& layer = static_cast<const TimeDistributedLayer&>(call.layer);
  const int64_t width = ElementCount(layer.inner().inputs()[0].shape);
  Doubles output;
  for (size_t step = 0; step < call.inputs[0]->size(); step += width) {
    const Doubles input(call.inputs[0]->begin() + step, call.inputs[0]->begin() + step + width);
    ReferenceBatch one;
    one.size = 1;
    one.training = call.batch.training;
    const Doubles result = ReferenceLayer(
        {.batch = one, .layer = layer.inner(), .inputs = {&input}, .variables = call.variables});
    output.insert(output.end(), result.begin(), result.end());
  }
  return output;
}

Doubles ReferenceAffine(const ReferenceCall& call) {
  const auto& layer = static_cast<const AffineLayer&>(call.layer);
  Doubles output = *call.inputs[0];
  const int64_t channels = layer.output().shape.back();
  for (size_t i = 0; i < output.size(); ++i) {
    const int64_t c = static_cast<int64_t>(i) % channels;
    if (layer.has_variables()) {
      output[i] = (output[i] - (*call.variables[0])[c]) / std::sqrt((*call.variables[1])[c]);
    } else {
      output[i] = output[i] * layer.scales()[layer.scales().size() == 1 ? 0 : c] +
                  layer.offsets()[layer.offsets().size() == 1 ? 0 : c];
    }
  }
  return output;
}

Doubles ReferenceEmbedding(const ReferenceCall& call) {
  const int64_t width = static_cast<const EmbeddingLayer&>(call.layer).width();
  Doubles output;
  for (double id : *call.inputs[0]) {
    const auto row = call.variables[0]->begin() + static_cast<int64_t>(id) * width;
    output.insert(output.end(), row, row + width);
  }
  return output;
}

Doubles ReferenceCategoryEncoding(const ReferenceCall& call) {
  const auto& layer = static_cast<const CategoryEncodingLayer&>(call.layer);
  const Doubles& ids = *call.inputs[0];
  Doubles output(ids.size() / layer.group() * layer.tokens(), 0);
  for (size_t i = 0; i < ids.size(); ++i) {
    double& element = output[i / layer.group() * layer.tokens() + static_cast<int64_t>(ids[i])];
    element = layer.mode() == CategoryEncodingLayer::Mode::kCount ? element + 1 : 1;
  }
  return output;
}

Doubles ReferenceStringLookup(const ReferenceCall& call) {
  using Mode = StringLookupLayer::Mode;
  const auto& layer = static_cast<const StringLookupLayer&>(call.layer);
  const Doubles& ids = *call.inputs[0];
  if (layer.mode() == Mode::kInt) return ids;
  Doubles output(ids.size() / layer.group() * layer.tokens(), 0);
  for (size_t i = 0; i < ids.size(); ++i) {
    double& element = output[i / layer.group() * layer.tokens() + static_cast<int64_t>(ids[i])];
    element = layer.mode() == Mode::kCount ? element + 1 : 1;
  }
  return output;
}

Doubles ReferenceDiscretization(const ReferenceCall& call) {
  using Mode = DiscretizationLayer::Mode;
  const auto& layer = static_cast<const DiscretizationLayer&>(call.layer);
  const Doubles& values = *call.inputs[0];
  const bool is_int = layer.mode() == Mode::kInt;
  Doubles output(is_int ? values.size() : values.size() / layer.group() * layer.bins(), 0);
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t bin = layer.BinOf(static_cast<float>(values[i]));
    double& element = output[is_int ? i : i / layer.group() * layer.bins() + bin];
    element = is_int ? bin : layer.mode() == Mode::kCount ? element + 1 : 1;
  }
  return output;
}

Doubles ReferenceConcatenate(const ReferenceCall& call) {
  const auto& layer = static_cast<const ConcatenateLayer&>(call.layer);
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

Doubles ReferenceMerge(const ReferenceCall& call) {
  const Shape& shape = call.layer.output().shape;
  Doubles output;
  for (int64_t i = 0; i < call.batch.size * ElementCount(shape); ++i) {
    Doubles values;
    for (size_t input = 0; input < call.inputs.size(); ++input) {
      const Shape& own = call.layer.inputs()[input].shape;
      const int64_t example = i / ElementCount(shape);
      values.push_back(
          (*call.inputs[input])[example * ElementCount(own) +
                                BroadcastElement(own, shape, i % ElementCount(shape))]);
    }
    output.push_back(MergeOne(static_cast<const MergeLayer&>(call.layer).kind(), values));
  }
  return output;
}

Doubles ReferenceDot(const ReferenceCall& call) {
  const auto& layer = static_cast<const DotLayer&>(call.layer);
  Doubles output;
  for (int64_t example = 0; example < call.batch.size; ++example) {
    const std::vector<Doubles> second = Vectors(layer, 1, *call.inputs[1], example);
    for (const Doubles& a : Vectors(layer, 0, *call.inputs[0], example)) {
      for (const Doubles& b : second) {
        double sum = 0;
        for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
        output.push_back(sum);
      }
    }
  }
  return output;
}

}  // namespace cairn::nn::testing
