#include "tests/nn/reference_model.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "common/check.h"
#include "tests/nn/reference_layers.h"

namespace cairn::nn::testing {
namespace {

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
      return std::min(std::max(a.slope * x + 0.5, 0.0), 1.0);
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
    case Kind::kHardSwish:
      return x * std::min(std::max(x / 6 + 0.5, 0.0), 1.0);
    case Kind::kHardTanh:
      return std::min(std::max(x, -1.0), 1.0);
    case Kind::kHardShrink:
      return x > 0.5 || x < -0.5 ? x : 0;
    case Kind::kSoftShrink:
      return x > 0.5 ? x - 0.5 : x < -0.5 ? x + 0.5 : 0;
    case Kind::kLogSigmoid:
      return std::log(sigmoid);
    case Kind::kMish:
      return x * std::tanh(std::log(1 + std::exp(x)));
    case Kind::kSparsePlus:
      return x <= -1 ? 0 : x < 1 ? (x + 1) * (x + 1) / 4 : x;
    case Kind::kSquareplus:
      return (x + std::sqrt(x * x + 4)) / 2;
    case Kind::kTanhShrink:
      return x - std::tanh(x);
    case Kind::kCos:
      return std::cos(x);
    case Kind::kErf:
      return std::erf(x);
    case Kind::kFloor:
      return std::floor(x);
    case Kind::kLog:
      return std::log(x);
    case Kind::kReciprocal:
      return 1 / x;
    case Kind::kSign:
      return x > 0 ? 1 : x < 0 ? -1 : 0;
    case Kind::kSin:
      return std::sin(x);
    case Kind::kSqrt:
      return std::sqrt(x);
    default:
      return x;
  }
}

struct KnownLayer {
  std::string_view class_name;
  Doubles (*compute)(const ReferenceCall& call);
};

constexpr KnownLayer kKnownLayers[] = {
    {"AdaptiveAveragePooling1D", ReferenceAdaptivePooling},
    {"AdaptiveAveragePooling2D", ReferenceAdaptivePooling},
    {"AdaptiveAveragePooling3D", ReferenceAdaptivePooling},
    {"AdaptiveMaxPooling1D", ReferenceAdaptivePooling},
    {"AdaptiveMaxPooling2D", ReferenceAdaptivePooling},
    {"AdaptiveMaxPooling3D", ReferenceAdaptivePooling},
    {"Add", ReferenceMerge},
    {"AdditiveAttention", ReferenceScoreAttention},
    {"AlphaDropout", ReferenceDropout},
    {"Attention", ReferenceScoreAttention},
    {"Average", ReferenceMerge},
    {"AveragePooling1D", ReferencePooling},
    {"AveragePooling2D", ReferencePooling},
    {"AveragePooling3D", ReferenceVolumePooling},
    {"BatchNormalization", ReferenceBatchNormalization},
    {"Bidirectional", ReferenceRecurrent},
    {"CategoryEncoding", ReferenceCategoryEncoding},
    {"CenterCrop", ReferenceResizing},
    {"Concatenate", ReferenceConcatenate},
    {"Conv1D", ReferenceConvolution},
    {"Conv1DTranspose", ReferenceTransposedConvolution},
    {"Conv2D", ReferenceConvolution},
    {"Conv2DTranspose", ReferenceTransposedConvolution},
    {"Conv3D", ReferenceVolumeConvolution},
    {"Conv3DTranspose", ReferenceVolumeTransposedConvolution},
    {"ConvLSTM1D", ReferenceConvLstm},
    {"ConvLSTM2D", ReferenceConvLstm},
    {"Cropping1D", ReferenceFrame},
    {"Cropping2D", ReferenceFrame},
    {"Cropping3D", ReferenceVolumeFrame},
    {"Dense", ReferenceDense},
    {"DepthwiseConv1D", ReferenceConvolution},
    {"DepthwiseConv2D", ReferenceConvolution},
    {"Discretization", ReferenceDiscretization},
    {"Dot", ReferenceDot},
    {"Dropout", ReferenceDropout},
    {"EinsumDense", ReferenceEinsumDense},
    {"Embedding", ReferenceEmbedding},
    {"GRU", ReferenceRecurrent},
    {"GaussianDropout", ReferenceGaussianNoise},
    {"GaussianNoise", ReferenceGaussianNoise},
    {"GlobalAveragePooling1D", ReferenceGlobalPooling},
    {"GlobalAveragePooling2D", ReferenceGlobalPooling},
    {"GlobalAveragePooling3D", ReferenceGlobalPooling},
    {"GlobalMaxPooling1D", ReferenceGlobalPooling},
    {"GlobalMaxPooling2D", ReferenceGlobalPooling},
    {"GlobalMaxPooling3D", ReferenceGlobalPooling},
    {"GroupNormalization", ReferenceLayerNormalization},
    {"LSTM", ReferenceRecurrent},
    {"LayerNormalization", ReferenceLayerNormalization},
    {"LayerOutput", ReferenceLayerOutput},
    {"Masking", ReferenceMasking},
    {"MaxPooling1D", ReferencePooling},
    {"MaxPooling2D", ReferencePooling},
    {"MaxPooling3D", ReferenceVolumePooling},
    {"Maximum", ReferenceMerge},
    {"Minimum", ReferenceMerge},
    {"MultiHeadAttention", ReferenceAttention},
    {"Multiply", ReferenceMerge},
    {"Normalization", ReferenceAffine},
    {"PReLU", ReferencePReLU},
    {"Permute", ReferencePermute},
    {"RMSNormalization", ReferenceLayerNormalization},
    {"RNN", ReferenceRecurrent},
    {"RandomBrightness", ReferenceRandomColor},
    {"RandomContrast", ReferenceRandomColor},
    {"RandomCrop", ReferenceRandomCrop},
    {"RandomErasing", ReferenceRandomPixels},
    {"RandomFlip", ReferenceRandomFlip},
    {"RandomGrayscale", ReferenceRandomPixels},
    {"RandomInvert", ReferenceRandomPixels},
    {"RandomRotation", ReferenceRandomAffine},
    {"RandomShear", ReferenceRandomAffine},
    {"RandomTranslation", ReferenceRandomAffine},
    {"RandomZoom", ReferenceRandomAffine},
    {"RepeatVector", ReferenceRepeatVector},
    {"Rescaling", ReferenceAffine},
    {"Resizing", ReferenceResizing},
    {"SeparableConv1D", ReferenceSeparableConvolution},
    {"SeparableConv2D", ReferenceSeparableConvolution},
    {"SimpleRNN", ReferenceRecurrent},
    {"Solarization", ReferenceRandomPixels},
    {"SpatialDropout1D", ReferenceDropout},
    {"SpatialDropout2D", ReferenceDropout},
    {"SpatialDropout3D", ReferenceDropout},
    {"StringLookup", ReferenceStringLookup},
    {"Subtract", ReferenceMerge},
    {"TimeDistributed", ReferenceTimeDistributed},
    {"UnitNormalization", ReferenceLayerNormalization},
    {"UpSampling1D", ReferenceResizing},
    {"UpSampling2D", ReferenceResizing},
    {"UpSampling3D", ReferenceVolumeUpSampling},
    {"ZeroPadding1D", ReferenceFrame},
    {"ZeroPadding2D", ReferenceFrame},
    {"ZeroPadding3D", ReferenceVolumeFrame},
};

}  // namespace

Doubles ReferenceLayer(const ReferenceCall& call) {
  const Layer& layer = call.layer;
  for (const KnownLayer& known : kKnownLayers) {
    if (layer.class_name() == known.class_name) return known.compute(call);
  }
  if (layer.is_view()) return *call.inputs[0];
  // What is left is an activation.
  CAIRN_CHECK(layer.variables().empty() && call.inputs.size() == 1);
  return ReferenceActivation(layer.activation(), layer.output().shape.back(), *call.inputs[0]);
}

Doubles ReferenceActivation(const Activation& activation, int64_t width, Doubles values) {
  if (!activation.is_row_wise()) {
    for (double& value : values) value = Apply(activation, value);
    return values;
  }
  for (size_t row = 0; row < values.size(); row += width) {
    double sum = 0;
    for (int64_t i = 0; i < width; ++i) sum += std::exp(values[row + i]);
    for (int64_t i = 0; i < width; ++i) {
      values[row + i] = activation.kind == Activation::Kind::kLogSoftmax
                            ? values[row + i] - std::log(sum)
                            : std::exp(values[row + i]) / sum;
    }
  }
  return values;
}

namespace {

// Example by example: whether some input is valid at a step, or the steps of all inputs.
Doubles ReferenceMergedMask(const ReferenceCall& call) {
  Doubles merged;
  const int64_t steps = call.layer.output().shape[0];
  for (int64_t example = 0; example < call.batch.size; ++example) {
    if (call.layer.mask_merge() == Layer::MaskMerge::kUnion) {
      for (int64_t step = 0; step < steps; ++step) {
        bool is_valid = false;
        for (const Doubles* mask : call.masks) {
          is_valid = is_valid || (*mask)[example * steps + step] != 0;
        }
        merged.push_back(is_valid ? 1 : 0);
      }
      continue;
    }
    for (size_t input = 0; input < call.masks.size(); ++input) {
      const int64_t count = call.layer.inputs()[input].shape[0];
      for (int64_t step = 0; step < count; ++step) {
        const Doubles* const mask = call.masks[input];
        merged.push_back(mask == nullptr || (*mask)[example * count + step] != 0 ? 1 : 0);
      }
    }
  }
  return merged;
}

// The outputs of all nodes.
std::vector<Doubles> ReferenceOutputs(const Model& model, const ReferenceBatch& batch) {
  std::vector<Doubles> outputs(model.nodes().size());
  std::vector<Doubles> masks(model.nodes().size());
  for (size_t i = 0; i < model.input_nodes().size(); ++i) {
    outputs[model.input_nodes()[i]] = batch.inputs[i];
  }
  for (size_t i = 0; i < model.nodes().size(); ++i) {
    const Model::Node& node = model.nodes()[i];
    if (node.inputs.empty()) continue;
    ReferenceCall call{.batch = batch, .layer = *node.layer};
    for (int input : node.inputs) call.inputs.push_back(&outputs[input]);
    for (size_t v = 0; v < node.layer->variables().size(); ++v) {
      call.variables.push_back(&batch.variables[node.first_variable + v]);
    }
    for (int mask : node.masks) {
      const bool is_computed = mask >= 0 && model.nodes()[mask].writes_mask;
      call.masks.push_back(mask < 0 ? nullptr : is_computed ? &masks[mask] : &outputs[mask]);
    }
    outputs[i] = ReferenceLayer(call);
    if (node.writes_mask) {
      masks[i] = node.layer->computes_mask() ? ReferenceMask(call) : ReferenceMergedMask(call);
    }
  }
  return outputs;
}

double Penalty(const Regularizer& regularizer, const Doubles& values) {
  double penalty = 0;
  for (const double value : values) {
    penalty += regularizer.l1 * std::fabs(value) + regularizer.l2 * value * value;
  }
  return penalty;
}

}  // namespace

Doubles ReferenceOutput(const Model& model, const ReferenceBatch& batch) {
  return ReferenceOutputs(model, batch)[model.output_node()];
}

double ReferencePenalty(const Model& model, const ReferenceBatch& batch) {
  const std::vector<Doubles> outputs = ReferenceOutputs(model, batch);
  double penalty = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Model::Node& node = model.nodes()[i];
    penalty +=
        Penalty(node.layer->activity_regularizer(), outputs[i]) / static_cast<double>(batch.size);
    if (!node.layer->trainable() || node.owner >= 0) continue;
    for (size_t v = 0; v < node.layer->variables().size(); ++v) {
      penalty +=
          Penalty(node.layer->variables()[v].regularizer, batch.variables[node.first_variable + v]);
    }
  }
  return penalty;
}

}  // namespace cairn::nn::testing
