#include "nn/formats/graph_writer.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/formats/layer_writers.h"
#include "nn/layers/affine.h"
#include "nn/layers/attention.h"
#include "nn/layers/batch_normalization.h"
#include "nn/layers/conv2d.h"
#include "nn/layers/layer_output.h"
#include "nn/layers/masking.h"
#include "nn/layers/preparation.h"
#include "nn/layers/separable_conv2d.h"

namespace cairn::nn {
namespace {

// Steps that are written one by one.
constexpr int64_t kStepsMax = 1000;
// Keras adds it to masked scores.
constexpr float kMasked = -1e9f;

std::vector<float> Ones(int64_t count) { return std::vector<float>(count, 1.0f); }

}  // namespace

absl::Status GraphWriter::Refuse(absl::string_view reason) const {
  return absl::InvalidArgumentError(absl::StrCat(
      "layer '", layer().name(), "' (", layer().class_name(), "): ", format_, " ", reason));
}

TensorSpec GraphWriter::InputSpec(int node) const {
  TensorSpec spec = model_.nodes()[node].layer->output();
  for (const Model::Node& user : model_.nodes()) {
    const bool is_input = !user.inputs.empty() && user.inputs[0] == node;
    if (is_input && spec.type == proto::INT32 && TakesInt64(*user.layer)) spec.type = proto::INT64;
  }
  return spec;
}

const std::vector<float>& GraphWriter::Values(int variable) const {
  return weights_[node().first_variable + variable].values;
}

const std::string& GraphWriter::WeightName(int variable) const {
  return weights_[node().first_variable + variable].name;
}

std::string GraphWriter::Weight(int variable) {
  return Constant(layer().variables()[variable].spec.shape, Values(variable), WeightName(variable));
}

std::string GraphWriter::WithBias(const std::string& x, int variable) {
  const bool has_bias = static_cast<int>(layer().variables().size()) > variable;
  return has_bias ? Add(x, Weight(variable)) : x;
}

std::string GraphWriter::MaskOf(int input) {
  const std::vector<int>& masks = node().masks;
  const int mask = input < static_cast<int>(masks.size()) ? masks[input] : -1;
  if (mask < 0) return "";
  std::string& value = masks_[mask];
  // A mask that no kernel writes is the output itself, such as the ids of an Embedding.
  if (value.empty()) value = IsNot(FloatOf(mask), 0);
  return value;
}

GraphWriter::Written GraphWriter::Masking() {
  const std::string x = In();
  const std::string differing = IsNot(x, As<MaskingLayer>().mask_value());
  masks_[node_] = IsNot(Sum(differing, /*axis=*/2), 0);
  return Select(WithShape(masks_[node_], {As<MaskingLayer>().steps(), 1}), x, Scalar(0));
}

void GraphWriter::MergeMasks() {
  if (!node().writes_mask) return;
  std::vector<std::string> masks;
  std::string any;
  for (size_t i = 0; i < node().inputs.size(); ++i) {
    masks.push_back(MaskOf(static_cast<int>(i)));
    if (!masks.back().empty()) any = masks.back();
  }
  if (layer().mask_merge() == Layer::MaskMerge::kUnion) {
    std::string mask = masks[0];
    for (size_t i = 1; i < masks.size(); ++i) mask = Larger(mask, masks[i]);
    masks_[node_] = mask;
    return;
  }
  for (size_t i = 0; i < masks.size(); ++i) {
    if (!masks[i].empty()) continue;
    // Ones for each example of the batch, whose size is not known.
    const int64_t steps = layer().inputs()[i].shape[0];
    const std::string zero = Multiply(WithShape(Sum(any, /*axis=*/1), {1}), Scalar(0));
    masks[i] = Add(zero, Constant({1, steps}, Ones(steps), ""));
  }
  masks_[node_] = Join(masks, /*axis=*/1);
}

GraphWriter::Written GraphWriter::MaskedMean() {
  const Shape& shape = layer().inputs()[0].shape;
  const int64_t positions = ElementCount(shape) / shape.back();
  const std::string mask = WithShape(MaskOf(0), {positions, 1});
  const std::string valid = Select(mask, WithShape(In(), {positions, shape.back()}), Scalar(0));
  const std::string mean = Divide(Sum(valid, /*axis=*/1), Larger(Sum(mask, /*axis=*/1), Scalar(1)));
  return WithShape(mean, layer().output().shape);
}

std::string GraphWriter::ScaleAndShift(const std::string& x, const std::vector<double>& scales,
                                       const std::vector<double>& offsets) {
  const auto constant = [this](const std::vector<double>& numbers) {
    return Constant({static_cast<int64_t>(numbers.size())},
                    std::vector<float>(numbers.begin(), numbers.end()), "");
  };
  return Add(Multiply(x, constant(scales)), constant(offsets));
}

GraphWriter::Written GraphWriter::Affine() {
  const auto& affine = As<AffineLayer>();
  std::vector<double> scales = affine.scales();
  std::vector<double> offsets = affine.offsets();
  for (size_t i = 0; affine.has_variables() && i < Values(0).size(); ++i) {
    scales.push_back(AffineLayer::ScaleOf(Values(1)[i]));
    offsets.push_back(-Values(0)[i] * scales.back());
  }
  return ScaleAndShift(In(), scales, offsets);
}

GraphWriter::Written GraphWriter::BatchNormalization() {
  const auto& norm = As<BatchNormalizationLayer>();
  std::vector<double> scales, offsets;
  for (size_t i = 0; i < Values(norm.moving_mean()).size(); ++i) {
    const double gamma = norm.gamma() < 0 ? 1 : Values(norm.gamma())[i];
    const double beta = norm.beta() < 0 ? 0 : Values(norm.beta())[i];
    scales.push_back(gamma / std::sqrt(Values(norm.moving_variance())[i] + norm.epsilon()));
    offsets.push_back(beta - Values(norm.moving_mean())[i] * scales.back());
  }
  return ScaleAndShift(In(), scales, offsets);
}

GraphWriter::Written GraphWriter::Dense() {
  return Activate(layer().activation(), WithBias(Product(In(), Weight(0)), 1));
}

GraphWriter::Written GraphWriter::Convolution() {
  const auto& conv = As<Conv2DLayer>();
  const std::string x = ToImage(In(), conv.input_image());
  const std::string y = Convolve(x, conv.window(), 0, conv.output_image()[2], conv.groups());
  return Activate(layer().activation(), WithBias(FromImage(y), 1));
}

GraphWriter::Written GraphWriter::SeparableConvolution() {
  const auto& conv = As<SeparableConv2DLayer>();
  const std::string x = ToImage(In(), conv.input_image());
  const std::string between =
      Convolve(x, conv.window(), 0, conv.between_image()[2], conv.input_image()[2]);
  const std::string y = Convolve(between, Window(), 1, conv.output_image()[2], 1);
  return Activate(layer().activation(), WithBias(FromImage(y), 2));
}

std::string GraphWriter::OpenScores() {
  const auto& attention = As<AttentionLayer>();
  std::string open;
  for (int input = 0; input < static_cast<int>(node().masks.size()); ++input) {
    const std::string mask = MaskOf(input);
    if (mask.empty()) continue;
    const Shape shape =
        input == 0 ? Shape{1, attention.steps(), 1} : Shape{1, 1, attention.positions()};
    const std::string factor = WithShape(mask, shape);
    open = open.empty() ? factor : Multiply(open, factor);
  }
  if (attention.mask_input() >= 0) {
    const std::string factor =
        WithShape(IsNot(In(attention.mask_input()), 0), attention.mask_shape());
    open = open.empty() ? factor : Multiply(open, factor);
  }
  return open.empty() || !attention.is_causal() ? open : Multiply(open, EarlierOr(1, 0));
}

std::string GraphWriter::EarlierOr(float earlier, float later) {
  const int64_t steps = As<AttentionLayer>().steps(), positions = As<AttentionLayer>().positions();
  std::vector<float> numbers(steps * positions, earlier);
  for (int64_t i = 0; i < steps; ++i) {
    for (int64_t j = i + 1; j < positions; ++j) numbers[i * positions + j] = later;
  }
  return Constant({steps, positions}, numbers, "");
}

GraphWriter::Written GraphWriter::Attention() {
  using Part = AttentionLayer::Part;
  const auto& attention = As<AttentionLayer>();
  const auto project = [&](Part part) {
    std::string y =
        Einsum("bsw,whk->bshk", In(attention.input(part)), Weight(attention.kernel(part)));
    if (attention.use_bias()) y = Add(y, Weight(attention.kernel(part) + 1));
    return Transpose(y, {0, 2, 1, 3});
  };
  const std::string query = Multiply(
      project(Part::kQuery), Scalar(1 / std::sqrt(static_cast<float>(attention.key_width()))));
  std::string scores = Einsum("bhsk,bhtk->bhst", query, project(Part::kKey));
  const std::string open = OpenScores();
  if (!open.empty()) {
    scores = Add(Multiply(scores, open), Multiply(Subtract(Scalar(1), open), Scalar(kMasked)));
  } else if (attention.is_causal()) {
    scores = Add(scores, EarlierOr(0, kMasked));
  }
  std::string shares = Activate({.kind = Activation::Kind::kSoftmax}, scores);
  if (!open.empty() && attention.zeroes_masked_weights()) shares = Multiply(shares, open);
  const std::string values = Einsum("bhst,bhtv->bhsv", shares, project(Part::kValue));
  const std::string y = Einsum("bhsv,hvo->bso", values, Weight(attention.kernel(Part::kOutput)));
  return attention.use_bias() ? Add(y, Weight(attention.kernel(Part::kOutput) + 1)) : y;
}

absl::StatusOr<GraphWriter::PassResult> GraphWriter::UnrolledPass(const RecurrentPass& pass,
                                                                  int first_state) {
  using Kind = RecurrentPass::Kind;
  if (pass.steps > kStepsMax) {
    return Refuse(absl::StrCat("has at most ", kStepsMax,
                               " steps of a recurrent layer that is written step by step"));
  }
  const auto& recurrent = As<RecurrentLayer>();
  const int64_t width = pass.gates() * pass.units;
  const std::vector<float>& kernel = Values(pass.first_variable + 1);
  // The product of all steps with the kernel.
  std::string x = Product(In(), Weight(pass.first_variable));
  std::string state_bias;
  if (pass.use_bias) {
    const std::vector<float>& bias = Values(pass.first_variable + 2);
    x = Add(x, Constant({width}, {bias.begin(), bias.begin() + width}, ""));
    if (static_cast<int64_t>(bias.size()) > width) {
      state_bias = Constant({width}, {bias.begin() + width, bias.end()}, "");
    }
  }
  const bool splits_kernel = pass.kind == Kind::kGru && !pass.resets_after;
  // That of the gates before the candidate, and that of the candidate.
  const int64_t first = splits_kernel ? 2 * pass.units : width;
  const std::string gates_kernel =
      Constant({pass.units, first}, Columns(kernel, width, 0, first), "");
  const std::string candidate_kernel =
      splits_kernel ? Constant({pass.units, pass.units}, Columns(kernel, width, first, width), "")
                    : "";
  const std::string zeros = Constant({1, pass.units}, std::vector<float>(pass.units), "");
  const bool is_given = recurrent.has_initial_states();
  std::string state = is_given ? In(1 + first_state) : zeros;
  std::string cell = is_given && pass.states() == 2 ? In(2 + first_state) : zeros;
  const auto gate = [&](const std::string& value) {
    return Activate(pass.recurrent_activation, value);
  };
  const std::vector<std::string> inputs = Steps(x, pass.steps);
  std::vector<std::string> masks;
  if (const std::string mask = MaskOf(0); !mask.empty()) {
    masks = Steps(WithShape(mask, {pass.steps, 1}), pass.steps);
  }
  std::vector<std::string> outputs;
  for (int64_t step = 0; step < pass.steps; ++step) {
    const int64_t place = pass.goes_backwards ? pass.steps - 1 - step : step;
    const std::string& input = inputs[place];
    std::string product = Product(state, gates_kernel);
    if (!state_bias.empty()) product = Add(product, state_bias);
    std::string new_state, new_cell = cell;
    if (pass.kind == Kind::kSimple) {
      new_state = Activate(pass.activation, Add(input, product));
    } else if (pass.kind == Kind::kLstm) {
      const std::vector<std::string> parts = Split(Add(input, product), pass.gates());
      new_cell = Add(Multiply(gate(parts[1]), cell),
                     Multiply(gate(parts[0]), Activate(pass.activation, parts[2])));
      new_state = Multiply(gate(parts[3]), Activate(pass.activation, new_cell));
    } else {
      const std::vector<std::string> of_input = Split(input, pass.gates());
      const std::vector<std::string> of_state = Split(product, splits_kernel ? 2 : pass.gates());
      const std::string update = gate(Add(of_input[0], of_state[0]));
      const std::string reset = gate(Add(of_input[1], of_state[1]));
      const std::string carried = splits_kernel ? Product(Multiply(reset, state), candidate_kernel)
                                                : Multiply(reset, of_state[2]);
      const std::string candidate = Activate(pass.activation, Add(of_input[2], carried));
      const std::string rest = Subtract(Scalar(1), update);
      new_state = Add(Multiply(update, state), Multiply(rest, candidate));
    }
    if (masks.empty()) {
      outputs.push_back(new_state);
    } else {
      const std::string& mask = masks[pass.MaskedStep(place)];
      new_state = Select(mask, new_state, state);
      if (pass.states() == 2) new_cell = Select(mask, new_cell, cell);
      outputs.push_back(recurrent.zeroes_masked_steps() ? Select(mask, new_state, zeros)
                                                        : new_state);
    }
    state = std::move(new_state);
    cell = std::move(new_cell);
  }
  PassResult result{.output = recurrent.returns_sequences() ? Sequence(outputs) : state,
                    .states = {state}};
  if (pass.states() == 2) result.states.push_back(cell);
  return result;
}

GraphWriter::Written GraphWriter::Recurrent() {
  using Merge = RecurrentLayer::Merge;
  const auto& recurrent = As<RecurrentLayer>();
  std::vector<std::string> outputs = {""};  // That of the layer, then the last states.
  std::vector<std::string> results;         // By pass.
  int first_state = 0;
  for (const RecurrentPass& pass : recurrent.passes()) {
    CAIRN_ASSIGN_OR_RETURN(const PassResult result, Pass(pass, first_state));
    first_state += pass.states();
    outputs.insert(outputs.end(), result.states.begin(), result.states.end());
    // The second pass of a Bidirectional begins with the last step.
    const bool is_reversed = !results.empty() && recurrent.returns_sequences();
    results.push_back(is_reversed ? Reversed(result.output) : result.output);
  }
  std::string y = results[0];
  if (results.size() == 2) {
    switch (recurrent.merge()) {
      case Merge::kConcatenate:
        y = Join(results, /*axis=*/-1);
        break;
      case Merge::kSum:
        y = Add(results[0], results[1]);
        break;
      case Merge::kMultiply:
        y = Multiply(results[0], results[1]);
        break;
      case Merge::kAverage:
        y = Multiply(Add(results[0], results[1]), Scalar(0.5f));
        break;
    }
  }
  outputs[0] = y;
  outputs_[node_] = std::move(outputs);
  return y;
}

GraphWriter::Written GraphWriter::LayerOutput() {
  return outputs_.at(node().inputs[0])[As<LayerOutputLayer>().index()];
}

}  // namespace cairn::nn
