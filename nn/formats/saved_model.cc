#include "nn/formats/saved_model.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/formats/graph_writer.h"
#include "nn/formats/layer_writers.h"
#include "nn/formats/tensorflow_graph.h"
#include "nn/layers/activation_layer.h"
#include "nn/layers/category_encoding.h"
#include "nn/layers/concatenate.h"
#include "nn/layers/conv2d_transpose.h"
#include "nn/layers/dot.h"
#include "nn/layers/global_pooling.h"
#include "nn/layers/input.h"
#include "nn/layers/layer_normalization.h"
#include "nn/layers/merge.h"
#include "nn/layers/pooling2d.h"
#include "nn/layers/preparation.h"
#include "nn/layers/rearranging.h"
#include "nn/layers/recurrent.h"
#include "nn/layers/resizing.h"
#include "nn/layers/string_lookup.h"
#include "nn/layers/window.h"
#include "nn/model.h"
#include "proto/tensorflow.pb.h"

namespace cairn::nn {
namespace {

namespace tf = ::cairn::tensorflow;

// The largest message that protobuf reads, less a reserve for everything but the weights.
constexpr int64_t kWeightBytesMax = (int64_t{1} << 31) - (int64_t{1} << 24);
// The signature, and its output, of the operator that runs when the model is loaded.
constexpr char kInitialization[] = "__saved_model_init_op";
// Keras's, of TextVectorization.
constexpr char kPunctuation[] = R"re([!"#$%&()\*\+,-\./:;<=>?@\[\\\]^_`{|}~'])re";

using Ints = TensorflowGraph::Ints;

class Writer final : public GraphWriter {
 public:
  Writer(const proto::ModelSpec& spec, const Model& model, absl::Span<const NamedTensor> weights)
      : GraphWriter("a SavedModel export", spec, model, weights) {}

  absl::StatusOr<std::string> Write() {
    for (size_t i = 0; i < model_.nodes().size(); ++i) {
      node_ = static_cast<int>(i);
      CAIRN_ASSIGN_OR_RETURN(values_.emplace_back(), WriteLayer());
    }
    tf::SavedModel file;
    file.set_saved_model_schema_version(1);
    tf::MetaGraphDef& meta = *file.add_meta_graphs();
    meta.mutable_meta_info_def()->add_tags("serve");
    tf::SignatureDef& signature = (*meta.mutable_signature_def())["serving_default"];
    signature.set_method_name("tensorflow/serving/predict");
    for (const int node : model_.input_nodes()) {
      const Layer& input = *model_.nodes()[node].layer;
      Describe(values_[node], input.output().shape, InputType(node),
               &(*signature.mutable_inputs())[input.name()]);
    }
    for (const Model::Output& output : model_.outputs()) {
      const std::string value = graph_.Add("Identity", {AsFloat(values_[output.node])});
      Describe(value, output.shape, tf::DT_FLOAT, &(*signature.mutable_outputs())[output.name]);
    }
    if (const std::string fills = graph_.AddInitialization(); !fills.empty()) {
      tf::SignatureDef& initialization = (*meta.mutable_signature_def())[kInitialization];
      (*initialization.mutable_outputs())[kInitialization].set_name(fills);
    }
    *meta.mutable_graph_def() = graph_.Finish();
    std::string bytes;
    if (file.SerializeToString(&bytes)) return bytes;
    return absl::InvalidArgumentError("the model is too large for a SavedModel");
  }

 private:
  friend class LayerWriters<Writer>;
  using Maker = LayerWriters<Writer>::Write;

  Written WriteLayer() {
    const Maker write = LayerWriters<Writer>::Find(layer().class_name());
    if (write == nullptr) return Refuse("does not have this layer");
    return (this->*write)();
  }

  tf::DataType InputType(int node) const {
    return IsText(*model_.nodes()[node].layer) ? tf::DT_STRING
                                               : TensorflowGraph::TypeOf(InputSpec(node));
  }

  static void Describe(const std::string& value, const Shape& shape, tf::DataType type,
                       tf::TensorInfo* info) {
    info->set_name(value + ":0");
    info->set_dtype(type);
    TensorflowGraph::SetShape({-1}, info->mutable_tensor_shape());
    TensorflowGraph::SetShape(shape, info->mutable_tensor_shape());
  }

  const std::string& Value(int input) const { return values_[node().inputs[input]]; }
  // Only inputs of the graph are integers, or text, which StringLookup takes as it is.
  std::string AsFloat(const std::string& value) {
    return integers_.contains(value) ? graph_.Cast(value, tf::DT_INT32, tf::DT_FLOAT) : value;
  }
  std::string FloatOf(int node) override { return AsFloat(values_[node]); }

  std::string Constant(const Shape& shape, const std::vector<float>& values,
                       const std::string& /*weight*/) override {
    return graph_.Constant(shape, values);
  }
  std::string Add(const std::string& x, const std::string& y) override {
    return graph_.Add("AddV2", {x, y});
  }
  std::string Subtract(const std::string& x, const std::string& y) override {
    return graph_.Add("Sub", {x, y});
  }
  std::string Multiply(const std::string& x, const std::string& y) override {
    return graph_.Add("Mul", {x, y});
  }
  std::string Divide(const std::string& x, const std::string& y) override {
    return graph_.Add("RealDiv", {x, y});
  }
  std::string Larger(const std::string& x, const std::string& y) override {
    return graph_.Add("Maximum", {x, y});
  }
  std::string Product(const std::string& x, const std::string& y) override {
    return graph_.Add("BatchMatMulV2", {x, y});
  }
  std::string Einsum(const char* equation, const std::string& x, const std::string& y) override {
    return graph_.Add("Einsum", {x, y}, {{"N", int64_t{2}}, {"equation", equation}});
  }
  std::string IsNot(const std::string& x, float value) override {
    return graph_.Cast(graph_.Add("NotEqual", {x, graph_.Scalar(value)}), tf::DT_BOOL,
                       tf::DT_FLOAT);
  }
  std::string Select(const std::string& mask, const std::string& x, const std::string& y) override {
    return graph_.Add("SelectV2", {graph_.Cast(mask, tf::DT_FLOAT, tf::DT_BOOL), x, y});
  }
  std::string Sum(const std::string& x, int axis) override {
    return graph_.Reduce("Sum", x, {axis}, /*keeps=*/false);
  }
  std::string WithShape(const std::string& x, const Shape& shape) override {
    return graph_.Reshape(x, shape);
  }
  std::string Transpose(const std::string& x, const std::vector<int>& order) override {
    return graph_.Transpose(x, order);
  }
  std::string Join(const std::vector<std::string>& values, int axis) override {
    return graph_.Concatenate(values, axis);
  }
  // The outputs of an operator.
  static std::vector<std::string> Outputs(const std::string& name, int64_t count) {
    std::vector<std::string> outputs;
    for (int64_t i = 0; i < count; ++i) outputs.push_back(absl::StrCat(name, ":", i));
    return outputs;
  }
  std::vector<std::string> Split(const std::string& x, int64_t parts) override {
    return Outputs(graph_.Split(x, 1, parts), parts);
  }
  std::vector<std::string> Steps(const std::string& sequence, int64_t count) override {
    return Outputs(graph_.Add("Unpack", {sequence}, {{"num", count}, {"axis", int64_t{1}}}), count);
  }
  std::string Sequence(const std::vector<std::string>& steps) override {
    return graph_.Add("Pack", steps,
                      {{"N", static_cast<int64_t>(steps.size())}, {"axis", int64_t{1}}});
  }
  std::string Reversed(const std::string& sequence) override {
    return graph_.Add("ReverseV2", {sequence, graph_.Integers({1})}, {{"Tidx", tf::DT_INT32}});
  }
  std::string ToImage(const std::string& x, const Shape& image) override {
    return graph_.Reshape(x, image);
  }
  std::string FromImage(const std::string& image) override {
    return graph_.Reshape(image, layer().output().shape);
  }

  std::string Activate(const Activation& activation, const std::string& x) override {
    using Kind = Activation::Kind;
    switch (activation.kind) {
      case Kind::kLinear:
        return x;
      case Kind::kRelu:
        return Relu(activation, x);
      case Kind::kSigmoid:
        return graph_.Add("Sigmoid", {x});
      case Kind::kHardSigmoid:
        return HardSigmoid(x, activation.slope);
      case Kind::kTanh:
        return graph_.Add("Tanh", {x});
      case Kind::kSoftmax:
        return graph_.Add("Softmax", {x});
      case Kind::kSoftplus:
        return graph_.Add("Softplus", {x});
      case Kind::kSoftsign:
        return graph_.Add("Softsign", {x});
      case Kind::kElu: {
        const std::string negative =
            graph_.Add("Elu", {graph_.Add("Minimum", {x, graph_.Scalar(0)})});
        return Add(graph_.Add("Relu", {x}), Multiply(negative, graph_.Scalar(activation.slope)));
      }
      case Kind::kSelu:
        return graph_.Add("Selu", {x});
      case Kind::kGelu: {
        const std::string erf = graph_.Add("Erf", {Multiply(x, graph_.Scalar(std::sqrt(0.5f)))});
        return Multiply(x, Multiply(Add(erf, graph_.Scalar(1)), graph_.Scalar(0.5f)));
      }
      case Kind::kSwish:
        return Multiply(x, graph_.Add("Sigmoid", {x}));
      case Kind::kExponential:
        return graph_.Add("Exp", {x});
      case Kind::kHardSwish:
        return Multiply(x, HardSigmoid(x, 1.0f / 6));
      case Kind::kHardTanh:
        return Clip(x, -1, 1);
      case Kind::kHardShrink:
        return graph_.Add("SelectV2",
                          {graph_.Add("LessEqual", {graph_.Add("Abs", {x}), graph_.Scalar(0.5f)}),
                           graph_.Scalar(0), x});
      case Kind::kSoftShrink:
        return graph_.Add("Sub", {x, Clip(x, -0.5f, 0.5f)});
      case Kind::kLogSigmoid:
        return graph_.Add("Neg", {graph_.Add("Softplus", {graph_.Add("Neg", {x})})});
      case Kind::kLogSoftmax:
        return graph_.Add("LogSoftmax", {x});
      case Kind::kMish:
        return Multiply(x, graph_.Add("Tanh", {graph_.Add("Softplus", {x})}));
      case Kind::kSparsePlus:
        return SparsePlus(x);
      case Kind::kSquareplus: {
        const std::string root = graph_.Add("Sqrt", {Add(Multiply(x, x), graph_.Scalar(4))});
        return Multiply(Add(x, root), graph_.Scalar(0.5f));
      }
      case Kind::kTanhShrink:
        return graph_.Add("Sub", {x, graph_.Add("Tanh", {x})});
      case Kind::kCos:
      case Kind::kErf:
      case Kind::kFloor:
      case Kind::kLog:
      case Kind::kReciprocal:
      case Kind::kSign:
      case Kind::kSin:
      case Kind::kSqrt:
        return graph_.Add(activation.operation_name(), {x});
    }
    return x;
  }

  // ((x, clipped to [-1, 1]) + 1)^2 / 4 + max(x - 1, 0)
  std::string SparsePlus(const std::string& x) {
    const std::string half = HardSigmoid(x, 0.5f);
    const std::string above = graph_.Add("Relu", {graph_.Add("Sub", {x, graph_.Scalar(1)})});
    return Add(Multiply(half, half), above);
  }

  std::string Clip(const std::string& x, float smallest, float largest) {
    const std::string raised = graph_.Add("Maximum", {x, graph_.Scalar(smallest)});
    return graph_.Add("Minimum", {raised, graph_.Scalar(largest)});
  }

  std::string HardSigmoid(const std::string& x, float slope) {
    return Clip(Add(Multiply(x, graph_.Scalar(slope)), graph_.Scalar(0.5f)), 0, 1);
  }

  // max_value if x >= max_value; x if x >= threshold; else slope * (x - threshold).
  std::string Relu(const Activation& activation, const std::string& x) {
    if (activation.is_plain_relu()) return graph_.Add("Relu", {x});
    const std::string threshold = graph_.Scalar(activation.threshold);
    const std::string below =
        Multiply(graph_.Add("Sub", {x, threshold}), graph_.Scalar(activation.slope));
    const std::string y = graph_.Add("SelectV2", {graph_.Add("Less", {x, threshold}), below, x});
    if (!activation.has_max_value) return y;
    return graph_.Add("Minimum", {y, graph_.Scalar(activation.max_value)});
  }

  Written Input() {
    std::string value = graph_.Placeholder(layer().output().shape, InputType(node_));
    if (layer().output().type == proto::INT32) integers_.insert(value);
    return value;
  }
  Written Identity() { return Value(0); }
  Written Same() { return Value(0); }
  Written Reshape() { return graph_.Reshape(In(), layer().output().shape); }
  Written OnlyActivation() { return Activate(layer().activation(), In()); }
  Written PRelu() {
    const std::string x = In();
    const std::string negative = graph_.Add("Minimum", {x, graph_.Scalar(0)});
    return Add(graph_.Add("Relu", {x}), Multiply(negative, Weight(0)));
  }

  Written Embedding() {
    std::string ids = Value(0);
    if (!integers_.contains(ids)) ids = graph_.Cast(ids, tf::DT_FLOAT, tf::DT_INT32);
    return graph_.Node(
        "GatherV2", {Weight(0), ids, graph_.Integer(0)},
        {{"Tparams", tf::DT_FLOAT}, {"Tindices", tf::DT_INT32}, {"Taxis", tf::DT_INT32}});
  }

  // Compares each element with all `tokens`: vectors with a 1 where they are equal, as floats.
  std::string Matches(const std::string& x, const std::string& tokens, tf::DataType type) {
    const std::string element =
        graph_.Node("ExpandDims", {x, graph_.Integer(-1)}, {{"T", type}, {"Tdim", tf::DT_INT32}});
    return graph_.Cast(graph_.Node("Equal", {element, tokens}, {{"T", type}}), tf::DT_BOOL,
                       tf::DT_FLOAT);
  }

  // The vectors of a layer that encodes indices: those of one group are one vector.
  std::string Encoded(const std::string& vectors, bool counts) {
    if (layer().output().shape.size() > layer().inputs()[0].shape.size()) return vectors;
    return graph_.Reduce(counts ? "Sum" : "Max", vectors, {-2}, /*keeps=*/false);
  }

  static std::vector<float> Indices(int64_t first, int64_t count) {
    std::vector<float> indices(count);
    std::iota(indices.begin(), indices.end(), static_cast<float>(first));
    return indices;
  }

  Written CategoryEncoding() {
    using Mode = CategoryEncodingLayer::Mode;
    const auto& encoding = As<CategoryEncodingLayer>();
    const std::string tokens = graph_.Constant({encoding.tokens()}, Indices(0, encoding.tokens()));
    return Encoded(Matches(graph_.Add("Floor", {In()}), tokens, tf::DT_FLOAT),
                   encoding.mode() == Mode::kCount);
  }

  // A vocabulary without an index for other texts gives them NaN.
  Written StringLookup() {
    using Mode = StringLookupLayer::Mode;
    const auto& lookup = As<StringLookupLayer>();
    const auto terms = static_cast<int64_t>(lookup.vocabulary().size());
    std::string vectors = Matches(Value(0), graph_.Texts(lookup.vocabulary()), tf::DT_STRING);
    const std::string known = graph_.Reduce("Sum", vectors, {-1}, /*keeps=*/true);
    if (!lookup.takes_unknown()) vectors = graph_.Add("RealDiv", {vectors, known});
    if (lookup.mode() == Mode::kInt) {
      const std::string indices = graph_.Constant({terms}, Indices(lookup.takes_unknown(), terms));
      return graph_.Reduce("Sum", Multiply(vectors, indices), {-1}, /*keeps=*/false);
    }
    if (lookup.takes_unknown()) {
      const std::string unknown = graph_.Add("Sub", {graph_.Scalar(1), known});
      vectors = graph_.Concatenate({unknown, vectors}, -1);
    }
    return Encoded(vectors, lookup.mode() == Mode::kCount);
  }

  // The whole numbers of 64 bits that the layer takes.
  std::string Wholes() {
    const bool is_int64 = InputSpec(node().inputs[0]).type == proto::INT64;
    return is_int64 ? Value(0) : graph_.Cast(In(), tf::DT_FLOAT, tf::DT_INT64);
  }

  // As StringLookup.
  Written IntegerLookup() {
    const auto& lookup = As<IntegerLookupLayer>();
    const float unknown = lookup.takes_unknown() ? 0 : std::numeric_limits<float>::quiet_NaN();
    return graph_.LookUp(
        Wholes(), graph_.Int64s(lookup.vocabulary()), tf::DT_INT64,
        Indices(lookup.takes_unknown(), static_cast<int64_t>(lookup.vocabulary().size())), unknown);
  }

  Written Hashing() {
    const auto& hashing = As<HashingLayer>();
    const bool is_text = IsText(*model_.nodes()[node().inputs[0]].layer);
    const tf::DataType type = is_text ? tf::DT_STRING : tf::DT_INT64;
    const std::string x = is_text ? Value(0) : Wholes();
    const std::string text = is_text ? x : graph_.Node("AsString", {x}, {{"T", type}});
    const bool has_mask = hashing.bins() > 1 && (is_text ? hashing.mask_text().has_value()
                                                         : hashing.mask_number().has_value());
    const int64_t bins = hashing.bins() - has_mask;
    const std::string hash =
        hashing.salt().empty()
            ? graph_.Node("StringToHashBucketFast", {text}, {{"num_buckets", bins}})
            : graph_.Node("StringToHashBucketStrong", {text},
                          {{"num_buckets", bins}, {"key", hashing.salt()}});
    const std::string bin = graph_.Cast(hash, tf::DT_INT64, tf::DT_FLOAT);
    if (!has_mask) return bin;
    const std::string mask =
        is_text ? graph_.Text(*hashing.mask_text()) : graph_.Int64(*hashing.mask_number());
    const std::string others = graph_.Node("NotEqual", {x, mask}, {{"T", type}});
    return Multiply(Add(bin, graph_.Scalar(1)), graph_.Cast(others, tf::DT_BOOL, tf::DT_FLOAT));
  }

  // The ids of the tokens of a text, in a vector of the layer's length. The rows of the batch are
  // described by `partition`: tensors of these types.
  std::string PadTokens(const std::string& ids, const std::vector<std::string>& partition,
                        const std::vector<std::string>& types) {
    std::vector<std::string> inputs = {graph_.Int64s({-1, As<TextVectorizationLayer>().length()}),
                                       ids, graph_.Scalar(0)};
    inputs.insert(inputs.end(), partition.begin(), partition.end());
    return graph_.Add("RaggedTensorToTensor", inputs,
                      {{"Tindex", tf::DT_INT64},
                       {"Tshape", tf::DT_INT64},
                       {"num_row_partition_tensors", static_cast<int64_t>(partition.size())},
                       {"row_partition_types", types}});
  }

  Written TextVectorization() {
    using Split = TextVectorizationLayer::Split;
    const auto& layer = As<TextVectorizationLayer>();
    std::string text = graph_.Node("Reshape", {Value(0), graph_.Integers({-1})},
                                   {{"T", tf::DT_STRING}, {"Tshape", tf::DT_INT32}});
    if (layer.lowers()) text = graph_.Node("StringLower", {text}, {{"encoding", ""}});
    if (layer.strips()) {
      text = graph_.Node("StaticRegexReplace", {text},
                         {{"pattern", kPunctuation}, {"rewrite", ""}, {"replace_global", true}});
    }
    // An empty text is padding.
    std::vector<std::string> tokens = layer.vocabulary();
    tokens.push_back("");
    std::vector<float> ids = Indices(2, static_cast<int64_t>(layer.vocabulary().size()));
    ids.push_back(0);
    const auto look_up = [&](const std::string& x) {
      return graph_.LookUp(x, graph_.Texts(tokens), tf::DT_STRING, ids, 1);
    };
    if (layer.split() == Split::kNone) {
      return graph_.Pad(graph_.Reshape(look_up(text), {1}), {0},
                        {static_cast<int32_t>(layer.length() - 1)});
    }
    if (layer.split() == Split::kWhitespace) {
      // Row and place of each token, the tokens, and the number of rows and places.
      const std::vector<std::string> parts =
          Outputs(graph_.Node("StringSplitV2", {text, graph_.Text("")}, {}), 3);
      const auto first_of = [&](const std::string& pairs, int64_t axis) {
        return graph_.Node("Unpack", {pairs},
                           {{"num", int64_t{2}}, {"axis", axis}, {"T", tf::DT_INT64}});
      };
      return PadTokens(look_up(parts[1]), {first_of(parts[2], 0), first_of(parts[0], 1)},
                       {"FIRST_DIM_SIZE", "VALUE_ROWIDS"});
    }
    // Where the characters of each text begin, and all characters.
    const std::vector<std::string> parts =
        Outputs(graph_.Node("UnicodeDecode", {text}, {{"input_encoding", "UTF-8"}}), 2);
    const std::string count =
        graph_.Node("Size", {parts[1]}, {{"T", tf::DT_INT32}, {"out_type", tf::DT_INT64}});
    const std::string end = graph_.Node("AddV2", {count, graph_.Int64(1)}, {{"T", tf::DT_INT64}});
    const std::string places =
        graph_.Node("Range", {graph_.Int64(0), end, graph_.Int64(1)}, {{"Tidx", tf::DT_INT64}});
    const std::string characters =
        graph_.Node("UnicodeEncode", {parts[1], places}, {{"output_encoding", "UTF-8"}});
    return PadTokens(look_up(characters), {parts[0]}, {"ROW_SPLITS"});
  }

  Written LayerNormalization() {
    const auto& norm = As<LayerNormalizationLayer>();
    const Shape width = {norm.width()};
    const std::string x = graph_.Reshape(In(), width);
    const std::string centered =
        graph_.Add("Sub", {x, graph_.Reduce("Mean", x, {-1}, /*keeps=*/true)});
    const std::string variance =
        graph_.Reduce("Mean", graph_.Add("Square", {centered}), {-1}, /*keeps=*/true);
    const std::string scale =
        graph_.Add("Rsqrt", {Add(variance, graph_.Scalar(static_cast<float>(norm.epsilon())))});
    std::string y = Multiply(centered, scale);
    if (norm.gamma() >= 0) y = Multiply(y, graph_.Constant(width, Values(norm.gamma())));
    if (norm.beta() >= 0) y = Add(y, graph_.Constant(width, Values(norm.beta())));
    return graph_.Reshape(y, layer().output().shape);
  }

  Written Merge() {
    MergeMasks();
    using Kind = MergeLayer::Kind;
    static const auto* const ops = new std::map<Kind, const char*>{
        {Kind::kAdd, "AddV2"},       {Kind::kAverage, "AddV2"},   {Kind::kSubtract, "Sub"},
        {Kind::kMaximum, "Maximum"}, {Kind::kMinimum, "Minimum"}, {Kind::kMultiply, "Mul"}};
    const Kind kind = As<MergeLayer>().kind();
    const auto count = static_cast<int>(layer().inputs().size());
    std::string y = In(0);
    for (int i = 1; i < count; ++i) y = graph_.Add(ops->at(kind), {y, In(i)});
    return kind == Kind::kAverage ? Multiply(y, graph_.Scalar(1.0f / count)) : y;
  }

  Written Concatenate() {
    MergeMasks();
    std::vector<std::string> inputs;
    for (size_t i = 0; i < layer().inputs().size(); ++i) inputs.push_back(In(i));
    return graph_.Concatenate(inputs, static_cast<int>(As<ConcatenateLayer>().axis()) + 1);
  }

  Written Dot() {
    const auto& dot = As<DotLayer>();
    if (dot.normalizes()) return Refuse("has no Dot that normalizes");
    std::string sides[2];
    for (int i = 0; i < 2; ++i) {
      const DotLayer::Side& side = dot.sides()[i];
      sides[i] = graph_.Reshape(In(i), {side.outer, side.length, side.inner});
    }
    return graph_.Reshape(Einsum("buvw,bxvy->buwxy", sides[0], sides[1]), layer().output().shape);
  }

  static Ints Spatial(const std::array<int64_t, 2>& numbers) {
    return {1, static_cast<int32_t>(numbers[0]), static_cast<int32_t>(numbers[1]), 1};
  }
  static Ints Places(const std::array<int64_t, 2>& numbers) {
    return {static_cast<int32_t>(numbers[0]), static_cast<int32_t>(numbers[1]), 0};
  }

  std::string Convolve(const std::string& x, const Window& window, int variable, int64_t filters,
                       int64_t groups) {
    const int64_t width =
        static_cast<int64_t>(Values(variable).size()) / (window.size[0] * window.size[1] * filters);
    const std::string padded =
        graph_.Pad(x, Places(window.padding_before), Places(window.padding_after));
    const std::vector<TensorflowGraph::Attribute> attributes = {
        {"strides", Spatial(window.strides)},
        {"dilations", Spatial(window.dilation)},
        {"padding", "VALID"}};
    const bool is_plain = window.strides[0] == window.strides[1] && window.dilation[0] == 1 &&
                          window.dilation[1] == 1;
    if (groups > 1 && width == 1 && is_plain) {
      const Shape shape = {window.size[0], window.size[1], groups, filters / groups};
      return graph_.Add("DepthwiseConv2dNative", {padded, graph_.Constant(shape, Values(variable))},
                        attributes);
    }
    // TensorFlow's convolution has no groups on a CPU.
    const std::string parts = groups == 1 ? padded : graph_.Split(padded, 3, groups);
    const int64_t each = filters / groups;
    std::vector<std::string> results;
    for (int64_t group = 0; group < groups; ++group) {
      const std::string kernel =
          graph_.Constant({window.size[0], window.size[1], width, each},
                          Columns(Values(variable), filters, group * each, (group + 1) * each));
      results.push_back(
          graph_.Add("Conv2D", {absl::StrCat(parts, ":", group), kernel}, attributes));
    }
    return graph_.Concatenate(results, 3);
  }

  // A kernel (height, width, output, input) with zeros between its rows and columns.
  std::string Dilated(const Window& window, int64_t filter_values, const Shape& reach) {
    std::vector<float> spread(reach[0] * reach[1] * filter_values, 0);
    for (int64_t row = 0; row < window.size[0]; ++row) {
      for (int64_t column = 0; column < window.size[1]; ++column) {
        const auto from = Values(0).begin() + (row * window.size[1] + column) * filter_values;
        const int64_t to = row * window.dilation[0] * reach[1] + column * window.dilation[1];
        std::copy(from, from + filter_values, spread.begin() + to * filter_values);
      }
    }
    return graph_.Constant(reach, spread);
  }

  Written TransposedConvolution() {
    const auto& conv = As<Conv2DTransposeLayer>();
    const Window& window = conv.window();
    const Shape output = conv.output_image();
    const Shape input = conv.input_image();
    Shape kernel = {1, 1, output[2], input[2]};
    // What the window reaches, of which the padding is cut off; what it does not reach is zero.
    Ints sizes, begin = {0}, length = {-1}, extra;
    for (int axis = 0; axis < 2; ++axis) {
      kernel[axis] = (window.size[axis] - 1) * window.dilation[axis] + 1;
      const int64_t reach = window.strides[axis] * (input[axis] - 1) + kernel[axis];
      const int64_t kept = std::min(output[axis], reach - window.padding_before[axis]);
      sizes.push_back(static_cast<int32_t>(reach));
      begin.push_back(static_cast<int32_t>(window.padding_before[axis]));
      length.push_back(static_cast<int32_t>(kept));
      extra.push_back(static_cast<int32_t>(output[axis] - kept));
    }
    sizes.push_back(static_cast<int32_t>(output[2]));
    begin.push_back(0);
    length.push_back(-1);
    extra.push_back(0);
    const std::string x = graph_.Reshape(In(), input);
    const auto integers = [this](const char* op, const std::vector<std::string>& inputs,
                                 std::vector<TensorflowGraph::Attribute> attributes) {
      attributes.push_back({"T", tf::DT_INT32});
      return graph_.Node(op, inputs, attributes);
    };
    const std::string shape =
        graph_.Node("Shape", {x}, {{"T", tf::DT_FLOAT}, {"out_type", tf::DT_INT32}});
    const std::string batch = integers("Slice", {shape, graph_.Integers({0}), graph_.Integers({1})},
                                       {{"Index", tf::DT_INT32}});
    const std::string result_shape =
        integers("ConcatV2", {batch, graph_.Integers(sizes), graph_.Integer(0)},
                 {{"N", int64_t{2}}, {"Tidx", tf::DT_INT32}});
    const std::string reached = graph_.Add(
        "Conv2DBackpropInput", {result_shape, Dilated(window, output[2] * input[2], kernel), x},
        {{"strides", Spatial(window.strides)}, {"padding", "VALID"}});
    const std::string y = graph_.Pad(graph_.Slice(reached, begin, length), {0, 0, 0}, extra);
    return Activate(layer().activation(), WithBias(graph_.Reshape(y, layer().output().shape), 1));
  }

  Written Pooling() {
    const auto& pooling = As<Pooling2DLayer>();
    const Window& window = pooling.window();
    const bool is_maximum = pooling.kind() == Pooling2DLayer::Kind::kMaximum;
    // The padding of "same" is TensorFlow's.
    const bool pads = window.padding_before[0] + window.padding_before[1] +
                          window.padding_after[0] + window.padding_after[1] >
                      0;
    const std::string y = graph_.Add(is_maximum ? "MaxPool" : "AvgPool",
                                     {graph_.Reshape(In(), pooling.input_image())},
                                     {{"ksize", Spatial(window.size)},
                                      {"strides", Spatial(window.strides)},
                                      {"padding", pads ? "SAME" : "VALID"}});
    return graph_.Reshape(y, layer().output().shape);
  }

  Written GlobalPooling() {
    if (!MaskOf(0).empty()) return MaskedMean();
    const bool is_maximum = As<GlobalPoolingLayer>().kind() == GlobalPoolingLayer::Kind::kMaximum;
    Ints axes(layer().inputs()[0].shape.size() - 1);
    std::iota(axes.begin(), axes.end(), 1);
    const std::string y = graph_.Reduce(is_maximum ? "Max" : "Mean", In(), axes, /*keeps=*/false);
    return graph_.Reshape(y, layer().output().shape);
  }

  // A negative padding crops.
  Written Pad() {
    Ints begin = {0}, length = {-1}, before, after;
    for (const AxisMapping& mapping : As<RearrangingLayer>().mappings()) {
      const int64_t end = mapping.length - mapping.offset - mapping.input_length;
      before.push_back(static_cast<int32_t>(std::max<int64_t>(0, mapping.offset)));
      after.push_back(static_cast<int32_t>(std::max<int64_t>(0, end)));
      begin.push_back(static_cast<int32_t>(std::max<int64_t>(0, -mapping.offset)));
      length.push_back(static_cast<int32_t>(mapping.length) - before.back() - after.back());
    }
    return graph_.Pad(graph_.Slice(In(), begin, length), before, after);
  }

  Written Permute() {
    Ints order = {0};
    const auto& fields = spec_.layers(node_).config().fields();
    for (const auto& dimension : fields.at("dims").list_value().values()) {
      order.push_back(static_cast<int32_t>(dimension.number_value()));
    }
    return graph_.Transpose(In(), order);
  }

  Written Repeat() {
    const Shape& shape = layer().output().shape;
    return graph_.Add("Tile",
                      {graph_.Reshape(In(), {1, shape[1]}),
                       graph_.Integers({1, static_cast<int32_t>(shape[0]), 1})},
                      {{"Tmultiples", tf::DT_INT32}});
  }

  Written Resizing() {
    const Resize& resize = As<ResizingLayer>().resize();
    Ints sizes;
    for (const ResizedAxis& axis : resize.axes) {
      if (axis.start != 0 || axis.extent != axis.input) {
        return Refuse("has no Resizing that crops");
      }
      sizes.push_back(static_cast<int32_t>(axis.output));
    }
    const Shape image = {resize.axes[0].input, resize.axes[1].input,
                         layer().inputs()[0].shape.back()};
    const std::string y = graph_.Add(resize.nearest ? "ResizeNearestNeighbor" : "ResizeBilinear",
                                     {graph_.Reshape(In(), image), graph_.Integers(sizes)},
                                     {{"align_corners", false}, {"half_pixel_centers", true}});
    return graph_.Reshape(y, layer().output().shape);
  }

  absl::StatusOr<PassResult> Pass(const RecurrentPass& pass, int first_state) override {
    return UnrolledPass(pass, first_state);
  }

  TensorflowGraph graph_;
  std::set<std::string> integers_;  // Values of integers.
};

}  // namespace

absl::StatusOr<std::vector<std::string>> WriteSavedModel(const proto::ModelSpec& spec,
                                                         absl::Span<const NamedTensor> weights) {
  CAIRN_ASSIGN_OR_RETURN(const auto model, Model::CreateForExport(spec));
  CAIRN_RETURN_IF_ERROR(CheckWeights(model->variables(), weights));
  int64_t bytes = 0;
  for (const NamedTensor& tensor : weights) bytes += tensor.values.size() * sizeof(float);
  if (bytes > kWeightBytesMax) {
    return absl::InvalidArgumentError("the model is too large for a SavedModel: 2 GiB at most");
  }
  CAIRN_ASSIGN_OR_RETURN(std::string file, Writer(spec, *model, weights).Write());
  return std::vector<std::string>{std::move(file)};
}

}  // namespace cairn::nn
