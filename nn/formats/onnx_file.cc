#include "nn/formats/onnx_file.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/formats/graph_writer.h"
#include "nn/formats/layer_writers.h"
#include "nn/formats/onnx_graph.h"
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

namespace cairn::nn {
namespace {

// The largest message that protobuf reads, less a reserve for everything but the weights.
constexpr int64_t kWeightBytesMax = (int64_t{1} << 31) - (int64_t{1} << 24);

using Ints = std::vector<int64_t>;

// Row-major values with their axes in another order: axis i of the result is axis order[i].
std::vector<float> Transposed(const std::vector<float>& values, const Shape& shape,
                              const std::vector<int>& order) {
  const size_t rank = shape.size();
  Shape strides(rank, 1);
  for (size_t i = rank - 1; i > 0; --i) strides[i - 1] = strides[i] * shape[i];
  std::vector<float> result;
  result.reserve(values.size());
  Shape index(rank, 0);
  for (size_t count = 0; count < values.size(); ++count) {
    int64_t from = 0;
    for (size_t i = 0; i < rank; ++i) from += index[i] * strides[order[i]];
    result.push_back(values[from]);
    for (size_t i = rank; i-- > 0;) {
      if (++index[i] < shape[order[i]]) break;
      index[i] = 0;
    }
  }
  return result;
}

class Writer final : public GraphWriter {
 public:
  Writer(const proto::ModelSpec& spec, const Model& model, absl::Span<const NamedTensor> weights)
      : GraphWriter("an ONNX export", spec, model, weights), graph_(spec.name()) {}

  absl::StatusOr<std::string> Write() {
    for (const int node : model_.input_nodes()) {
      const Layer& layer = *model_.nodes()[node].layer;
      if (IsText(layer)) {
        graph_.TextInput(layer.name(), layer.output().shape);
      } else {
        graph_.Input(layer.name(), InputSpec(node));
      }
    }
    for (size_t i = 0; i < model_.nodes().size(); ++i) {
      node_ = static_cast<int>(i);
      CAIRN_ASSIGN_OR_RETURN(values_.emplace_back(), WriteLayer());
    }
    for (const Model::Output& output : model_.outputs()) {
      graph_.Output(values_[output.node], output.name, output.shape);
    }
    std::string file;
    if (graph_.model().SerializeToString(&file)) return file;
    return absl::InvalidArgumentError("the model is too large for an ONNX file");
  }

 private:
  friend class LayerWriters<Writer>;
  using Maker = LayerWriters<Writer>::Write;

  Written WriteLayer() {
    const Maker write = LayerWriters<Writer>::Find(layer().class_name());
    if (write == nullptr) return Refuse("does not have this layer");
    return (this->*write)();
  }

  std::string Constant(const Shape& shape, const std::vector<float>& values,
                       const std::string& weight) override {
    return graph_.Constant(shape, values, weight);
  }
  std::string Add(const std::string& x, const std::string& y) override {
    return graph_.Add("Add", {x, y});
  }
  std::string Subtract(const std::string& x, const std::string& y) override {
    return graph_.Add("Sub", {x, y});
  }
  std::string Multiply(const std::string& x, const std::string& y) override {
    return graph_.Add("Mul", {x, y});
  }
  std::string Divide(const std::string& x, const std::string& y) override {
    return graph_.Add("Div", {x, y});
  }
  std::string Larger(const std::string& x, const std::string& y) override {
    return graph_.Add("Max", {x, y});
  }
  std::string Product(const std::string& x, const std::string& y) override {
    return graph_.Add("MatMul", {x, y});
  }
  std::string Einsum(const char* equation, const std::string& x, const std::string& y) override {
    return graph_.Add("Einsum", {x, y}, {{"equation", equation}});
  }
  std::string Cast(const std::string& x, onnx::TensorProto::DataType type) {
    return graph_.Add("Cast", {x}, {{"to", int64_t{type}}});
  }
  std::string IsNot(const std::string& x, float value) override {
    const std::string is_value = graph_.Add("Equal", {x, graph_.Scalar(value)});
    return Cast(graph_.Add("Not", {is_value}), onnx::TensorProto::FLOAT);
  }
  std::string Select(const std::string& mask, const std::string& x, const std::string& y) override {
    return graph_.Add("Where", {Cast(mask, onnx::TensorProto::BOOL), x, y});
  }
  std::string Sum(const std::string& x, int axis) override {
    return graph_.Add("ReduceSum", {x, graph_.Integers({axis})}, {{"keepdims", int64_t{0}}});
  }
  std::string WithShape(const std::string& x, const Shape& shape) override {
    return graph_.Reshape(x, shape);
  }
  std::string Transpose(const std::string& x, const std::vector<int>& order) override {
    return graph_.Add("Transpose", {x}, {{"perm", Ints(order.begin(), order.end())}});
  }
  std::string Join(const std::vector<std::string>& values, int axis) override {
    return graph_.Add("Concat", values, {{"axis", int64_t{axis}}});
  }
  std::vector<std::string> Split(const std::string& x, int64_t parts) override {
    return graph_.AddSeveral("Split", {x}, {{"axis", int64_t{1}}}, static_cast<int>(parts));
  }
  std::vector<std::string> Steps(const std::string& sequence, int64_t count) override {
    std::vector<std::string> steps = Split(sequence, count);
    const std::string axis = graph_.Integers({1});
    for (std::string& step : steps) step = graph_.Add("Squeeze", {step, axis});
    return steps;
  }
  std::string Sequence(const std::vector<std::string>& steps) override {
    std::vector<std::string> sequences;
    const std::string axis = graph_.Integers({1});
    for (const std::string& step : steps) {
      sequences.push_back(graph_.Add("Unsqueeze", {step, axis}));
    }
    return Join(sequences, 1);
  }
  std::string Reversed(const std::string& sequence) override {
    constexpr int64_t kBeforeFirst = std::numeric_limits<int64_t>::min();
    return graph_.Add("Slice", {sequence, graph_.Integers({-1}), graph_.Integers({kBeforeFirst}),
                                graph_.Integers({1}), graph_.Integers({-1})});
  }
  std::string FloatOf(int node) override {
    if (model_.nodes()[node].layer->output().type != proto::INT32) return values_[node];
    return Cast(values_[node], onnx::TensorProto::FLOAT);
  }
  // Images have their channels last, and ONNX has them first.
  std::string ToImage(const std::string& x, const Shape& image) override {
    return Transpose(graph_.Reshape(x, image), {0, 3, 1, 2});
  }
  std::string FromImage(const std::string& image) override {
    return graph_.Reshape(Transpose(image, {0, 2, 3, 1}), layer().output().shape);
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
        return graph_.Add("HardSigmoid", {x}, {{"alpha", activation.slope}, {"beta", 0.5f}});
      case Kind::kTanh:
        return graph_.Add("Tanh", {x});
      case Kind::kSoftmax:
        return graph_.Add("Softmax", {x}, {{"axis", int64_t{-1}}});
      case Kind::kSoftplus:
        return graph_.Add("Softplus", {x});
      case Kind::kSoftsign:
        return graph_.Add("Softsign", {x});
      case Kind::kElu:
        return graph_.Add("Elu", {x}, {{"alpha", activation.slope}});
      case Kind::kSelu:
        return graph_.Add("Selu", {x});
      case Kind::kGelu: {
        const std::string erf =
            graph_.Add("Erf", {graph_.Add("Mul", {x, graph_.Scalar(std::sqrt(0.5f))})});
        const std::string share =
            graph_.Add("Mul", {graph_.Add("Add", {erf, graph_.Scalar(1)}), graph_.Scalar(0.5f)});
        return graph_.Add("Mul", {x, share});
      }
      case Kind::kSwish:
        return graph_.Add("Mul", {x, graph_.Add("Sigmoid", {x})});
      case Kind::kExponential:
        return graph_.Add("Exp", {x});
      case Kind::kHardSwish:
        return graph_.Add(
            "Mul", {x, graph_.Add("HardSigmoid", {x}, {{"alpha", 1.0f / 6}, {"beta", 0.5f}})});
      case Kind::kHardTanh:
        return Clip(x, -1, 1);
      case Kind::kHardShrink:
        return graph_.Add("Shrink", {x}, {{"lambd", 0.5f}});
      case Kind::kSoftShrink:
        return graph_.Add("Shrink", {x}, {{"lambd", 0.5f}, {"bias", 0.5f}});
      case Kind::kLogSigmoid:
        return graph_.Add("Neg", {graph_.Add("Softplus", {graph_.Add("Neg", {x})})});
      case Kind::kLogSoftmax:
        return graph_.Add("LogSoftmax", {x}, {{"axis", int64_t{-1}}});
      case Kind::kMish:
        return graph_.Add("Mul", {x, graph_.Add("Tanh", {graph_.Add("Softplus", {x})})});
      case Kind::kSparsePlus:
        return SparsePlus(x);
      case Kind::kSquareplus: {
        const std::string square = graph_.Add("Add", {graph_.Add("Mul", {x, x}), graph_.Scalar(4)});
        const std::string sum = graph_.Add("Add", {x, graph_.Add("Sqrt", {square})});
        return graph_.Add("Mul", {sum, graph_.Scalar(0.5f)});
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
    const std::string half = graph_.Add("HardSigmoid", {x}, {{"alpha", 0.5f}, {"beta", 0.5f}});
    const std::string above = graph_.Add("Relu", {graph_.Add("Sub", {x, graph_.Scalar(1)})});
    return graph_.Add("Add", {graph_.Add("Mul", {half, half}), above});
  }

  std::string Clip(const std::string& x, float smallest, float largest) {
    const std::string raised = graph_.Add("Max", {x, graph_.Scalar(smallest)});
    return graph_.Add("Min", {raised, graph_.Scalar(largest)});
  }

  // max_value if x >= max_value; x if x >= threshold; else slope * (x - threshold).
  std::string Relu(const Activation& activation, const std::string& x) {
    if (activation.is_plain_relu()) return graph_.Add("Relu", {x});
    std::string y;
    if (activation.threshold == 0) {
      y = graph_.Add("LeakyRelu", {x}, {{"alpha", activation.slope}});
    } else {
      const std::string threshold = graph_.Scalar(activation.threshold);
      const std::string below =
          graph_.Add("Mul", {graph_.Add("Sub", {x, threshold}), graph_.Scalar(activation.slope)});
      y = graph_.Add("Where", {graph_.Add("Less", {x, threshold}), below, x});
    }
    if (!activation.has_max_value) return y;
    return graph_.Add("Min", {y, graph_.Scalar(activation.max_value)});
  }

  Written Input() { return layer().name(); }
  Written Identity() { return graph_.Reshape(In(), layer().output().shape); }
  Written Same() { return In(); }
  Written Reshape() { return graph_.Reshape(In(), layer().output().shape); }
  Written OnlyActivation() { return Activate(layer().activation(), In()); }
  Written PRelu() { return graph_.Add("PRelu", {In(), Weight(0)}); }

  Written Embedding() {
    const std::string ids = values_[node().inputs[0]];
    return graph_.Add(
        "Gather",
        {Weight(0), graph_.Add("Cast", {ids}, {{"to", int64_t{onnx::TensorProto::INT64}}})});
  }

  // Vectors of the indices `x`: those of one group are one vector.
  std::string Encode(const std::string& x, int64_t tokens, bool counts) {
    std::vector<float> indices(tokens);
    std::iota(indices.begin(), indices.end(), 0.0f);
    const std::string element = graph_.Add("Unsqueeze", {x, graph_.Integers({-1})});
    const std::string match = graph_.Add("Equal", {element, graph_.Constant({tokens}, indices)});
    std::string vectors = graph_.Add("Cast", {match}, {{"to", int64_t{onnx::TensorProto::FLOAT}}});
    // NaN stays NaN.
    vectors = graph_.Add("Add", {vectors, graph_.Add("Sub", {element, element})});
    if (layer().output().shape.size() > layer().inputs()[0].shape.size()) return vectors;
    if (counts) {
      return graph_.Add("ReduceSum", {vectors, graph_.Integers({-2})}, {{"keepdims", int64_t{0}}});
    }
    return graph_.Add("ReduceMax", {vectors}, {{"axes", Ints{-2}}, {"keepdims", int64_t{0}}});
  }

  Written CategoryEncoding() {
    using Mode = CategoryEncodingLayer::Mode;
    const auto& encoding = As<CategoryEncodingLayer>();
    return Encode(graph_.Add("Floor", {In()}), encoding.tokens(), encoding.mode() == Mode::kCount);
  }

  // The indices of `x` in the vocabulary. One without an index for others gives them NaN.
  template <typename Lookup>
  std::string Index(const Lookup& lookup, const std::string& x, const char* keys) {
    std::vector<float> indices(lookup.vocabulary().size());
    std::iota(indices.begin(), indices.end(), lookup.takes_unknown() ? 1.0f : 0.0f);
    const float unknown = lookup.takes_unknown() ? 0 : std::numeric_limits<float>::quiet_NaN();
    return graph_.AddMl(
        "LabelEncoder", {x},
        {{keys, lookup.vocabulary()}, {"values_floats", indices}, {"default_float", unknown}});
  }

  Written IntegerLookup() {
    const bool is_int64 = InputSpec(node().inputs[0]).type == proto::INT64;
    return Index(As<IntegerLookupLayer>(),
                 is_int64 ? values_[node().inputs[0]] : Cast(In(), onnx::TensorProto::INT64),
                 "keys_int64s");
  }

  Written Hashing() { return Refuse("has no operator that hashes"); }
  Written TextVectorization() { return Refuse("has no operators that divide texts into tokens"); }

  Written StringLookup() {
    using Mode = StringLookupLayer::Mode;
    const auto& lookup = As<StringLookupLayer>();
    const std::string index = Index(lookup, values_[node().inputs[0]], "keys_strings");
    if (lookup.mode() == Mode::kInt) return index;
    return Encode(index, lookup.tokens(), lookup.mode() == Mode::kCount);
  }

  Written LayerNormalization() {
    const auto& norm = As<LayerNormalizationLayer>();
    const Shape width = {norm.width()};
    const std::string scale =
        norm.gamma() < 0 ? graph_.Constant(width, std::vector<float>(norm.width(), 1))
                         : graph_.Constant(width, Values(norm.gamma()), WeightName(norm.gamma()));
    std::vector<std::string> inputs = {graph_.Reshape(In(), width), scale};
    if (norm.beta() >= 0)
      inputs.push_back(graph_.Constant(width, Values(norm.beta()), WeightName(norm.beta())));
    const std::string normal =
        graph_.Add("LayerNormalization", inputs,
                   {{"axis", int64_t{-1}}, {"epsilon", static_cast<float>(norm.epsilon())}});
    return graph_.Reshape(normal, layer().output().shape);
  }

  Written Merge() {
    MergeMasks();
    using Kind = MergeLayer::Kind;
    std::vector<std::string> inputs;
    for (size_t i = 0; i < layer().inputs().size(); ++i) inputs.push_back(In(i));
    switch (As<MergeLayer>().kind()) {
      case Kind::kSubtract:
        return graph_.Add("Sub", inputs);
      case Kind::kAverage:
        return graph_.Add("Mean", inputs);
      case Kind::kMaximum:
        return graph_.Add("Max", inputs);
      case Kind::kMinimum:
        return graph_.Add("Min", inputs);
      case Kind::kAdd:
      case Kind::kMultiply:
        break;
    }
    const char* const op = As<MergeLayer>().kind() == Kind::kAdd ? "Add" : "Mul";
    std::string result = inputs[0];
    for (size_t i = 1; i < inputs.size(); ++i) result = graph_.Add(op, {result, inputs[i]});
    return result;
  }

  Written Concatenate() {
    MergeMasks();
    std::vector<std::string> inputs;
    for (size_t i = 0; i < layer().inputs().size(); ++i) inputs.push_back(In(i));
    return Join(inputs, static_cast<int>(As<ConcatenateLayer>().axis()) + 1);
  }

  Written Dot() {
    const auto& dot = As<DotLayer>();
    if (dot.normalizes()) return Refuse("has no Dot that normalizes");
    std::string sides[2];
    for (int i = 0; i < 2; ++i) {
      const DotLayer::Side& side = dot.sides()[i];
      sides[i] = graph_.Reshape(In(i), {side.outer, side.length, side.inner});
    }
    const std::string product = Einsum("buvw,bxvy->buwxy", sides[0], sides[1]);
    return graph_.Reshape(product, layer().output().shape);
  }

  static Ints Pads(const Window& window) {
    return {window.padding_before[0], window.padding_before[1], window.padding_after[0],
            window.padding_after[1]};
  }
  static Ints Both(const std::array<int64_t, 2>& numbers) { return {numbers[0], numbers[1]}; }

  // `x` has its channels first, and so has the result. `filters` are those of all groups.
  std::string Convolve(const std::string& x, const Window& window, int variable, int64_t filters,
                       int64_t groups) override {
    const Shape shape = {
        window.size[0], window.size[1],
        static_cast<int64_t>(Values(variable).size()) / (window.size[0] * window.size[1] * filters),
        filters};
    const std::string kernel =
        graph_.Constant({shape[3], shape[2], shape[0], shape[1]},
                        Transposed(Values(variable), shape, {3, 2, 0, 1}), WeightName(variable));
    return graph_.Add("Conv", {x, kernel},
                      {{"dilations", Both(window.dilation)},
                       {"group", groups},
                       {"pads", Pads(window)},
                       {"strides", Both(window.strides)}});
  }

  Written TransposedConvolution() {
    const auto& conv = As<Conv2DTransposeLayer>();
    const Window& window = conv.window();
    const Shape shape = {window.size[0], window.size[1], conv.output_image()[2],
                         conv.input_image()[2]};
    const std::string kernel =
        graph_.Constant({shape[3], shape[2], shape[0], shape[1]},
                        Transposed(Values(0), shape, {3, 2, 0, 1}), WeightName(0));
    // What the window leaves of the output beyond the padding, or cuts off.
    Ints pads = {window.padding_before[0], window.padding_before[1], 0, 0};
    Ints extra = {0, 0};
    for (int axis = 0; axis < 2; ++axis) {
      const int64_t reach = window.strides[axis] * (conv.input_image()[axis] - 1) +
                            (window.size[axis] - 1) * window.dilation[axis] + 1;
      const int64_t after = reach - pads[axis] - conv.output_image()[axis];
      pads[2 + axis] = std::max<int64_t>(0, after);
      extra[axis] = std::max<int64_t>(0, -after);
    }
    const std::string y = graph_.Add("ConvTranspose", {ToImage(In(), conv.input_image()), kernel},
                                     {{"dilations", Both(window.dilation)},
                                      {"output_padding", extra},
                                      {"pads", pads},
                                      {"strides", Both(window.strides)}});
    return Activate(layer().activation(), WithBias(FromImage(y), 1));
  }

  Written Pooling() {
    const auto& pooling = As<Pooling2DLayer>();
    const Window& window = pooling.window();
    const bool is_maximum = pooling.kind() == Pooling2DLayer::Kind::kMaximum;
    const std::string y =
        graph_.Add(is_maximum ? "MaxPool" : "AveragePool", {ToImage(In(), pooling.input_image())},
                   {{"kernel_shape", Both(window.size)},
                    {"pads", Pads(window)},
                    {"strides", Both(window.strides)}});
    return FromImage(y);
  }

  Written GlobalPooling() {
    if (!MaskOf(0).empty()) return MaskedMean();
    const bool is_maximum = As<GlobalPoolingLayer>().kind() == GlobalPoolingLayer::Kind::kMaximum;
    Ints axes(layer().inputs()[0].shape.size() - 1);
    std::iota(axes.begin(), axes.end(), 1);
    const std::string y = graph_.Add(is_maximum ? "ReduceMax" : "ReduceMean", {In()},
                                     {{"axes", axes}, {"keepdims", int64_t{0}}});
    return graph_.Reshape(y, layer().output().shape);
  }

  // A negative padding crops.
  Written Pad() {
    Ints before = {0}, after = {0};
    for (const AxisMapping& mapping : As<RearrangingLayer>().mappings()) {
      before.push_back(mapping.offset);
      after.push_back(mapping.length - mapping.offset - mapping.input_length);
    }
    before.insert(before.end(), after.begin(), after.end());
    return graph_.Add("Pad", {In(), graph_.Integers(before)});
  }

  Written Permute() {
    Ints order = {0};
    const auto& fields = spec_.layers(node_).config().fields();
    for (const auto& dimension : fields.at("dims").list_value().values()) {
      order.push_back(static_cast<int64_t>(dimension.number_value()));
    }
    return graph_.Add("Transpose", {In()}, {{"perm", order}});
  }

  Written Repeat() {
    const Shape& shape = layer().output().shape;
    return graph_.Add(
        "Expand", {graph_.Reshape(In(), {1, shape[1]}), graph_.Integers({1, shape[0], shape[1]})});
  }

  Written Resizing() {
    const Resize& resize = As<ResizingLayer>().resize();
    Shape image = layer().inputs()[0].shape;
    Ints sizes = {image.back()};
    for (const ResizedAxis& axis : resize.axes) {
      if (axis.start != 0 || axis.extent != axis.input) {
        return Refuse("has no Resizing that crops");
      }
      sizes.push_back(axis.output);
    }
    image = {resize.axes[0].input, resize.axes[1].input, image.back()};
    // Sizes include the batch, which is not known: the channels are the first axis of each image.
    const std::string x = ToImage(In(), image);
    const std::string scales = graph_.Constant({4}, {1, 1, static_cast<float>(sizes[1]) / image[0],
                                                     static_cast<float>(sizes[2]) / image[1]});
    std::vector<OnnxGraph::Attribute> attributes = {
        {"coordinate_transformation_mode", "half_pixel"},
        {"mode", resize.nearest ? "nearest" : "linear"}};
    if (resize.nearest) attributes.push_back({"nearest_mode", "round_prefer_ceil"});
    return FromImage(graph_.Add("Resize", {x, "", scales}, attributes));
  }

  // The name of an activation in a recurrent operator; empty if it has none.
  static std::string RecurrentActivation(const Activation& activation) {
    using Kind = Activation::Kind;
    switch (activation.kind) {
      case Kind::kSigmoid:
        return "Sigmoid";
      case Kind::kTanh:
        return "Tanh";
      case Kind::kHardSigmoid:
        return "HardSigmoid";
      case Kind::kRelu:
        return activation.is_plain_relu() ? "Relu" : "";
      default:
        return "";
    }
  }

  // Values of a kernel or bias (rows of gates * units) with the gates in ONNX's order, gate by
  // gate.
  static std::vector<float> Gates(const std::vector<float>& values, const RecurrentPass& pass) {
    const int lstm[] = {0, 3, 1, 2};  // Of Keras's i, f, c, o.
    const int64_t width = pass.gates() * pass.units;
    const auto rows = static_cast<int64_t>(values.size()) / width;
    std::vector<float> result;
    for (int gate = 0; gate < pass.gates(); ++gate) {
      const int64_t begin =
          (pass.kind == RecurrentPass::Kind::kLstm ? lstm[gate] : gate) * pass.units;
      const auto columns = Columns(values, width, begin, begin + pass.units);
      const auto unit_by_unit = Transposed(columns, {rows, pass.units}, {1, 0});
      result.insert(result.end(), unit_by_unit.begin(), unit_by_unit.end());
    }
    return result;
  }

  // The bias of the input and that of the state.
  std::string RecurrentBias(const RecurrentPass& pass) {
    const int64_t width = pass.gates() * pass.units;
    const std::vector<float>& values = Values(pass.first_variable + 2);
    std::vector<float> bias = Gates({values.begin(), values.begin() + width}, pass);
    std::vector<float> state(width, 0);
    if (static_cast<int64_t>(values.size()) > width) {
      state = Gates({values.begin() + width, values.end()}, pass);
    }
    bias.insert(bias.end(), state.begin(), state.end());
    return graph_.Constant({1, 2 * width}, bias);
  }

  // ONNX's recurrent operators know lengths of sequences, but no masks.
  absl::StatusOr<PassResult> Pass(const RecurrentPass& pass, int first_state) override {
    using Kind = RecurrentPass::Kind;
    const bool is_simple = pass.kind == Kind::kSimple;
    const bool is_gru = pass.kind == Kind::kGru;
    const int64_t width = pass.gates() * pass.units;
    std::vector<std::string> names = {RecurrentActivation(pass.activation)};
    std::vector<float> alphas = {pass.activation.slope};
    if (!is_simple) {
      names.insert(names.begin(), RecurrentActivation(pass.recurrent_activation));
      alphas.insert(alphas.begin(), pass.recurrent_activation.slope);
    }
    // The LSTM has the activation of its output apart.
    if (!is_simple && !is_gru) {
      names.push_back(names.back());
      alphas.push_back(alphas.back());
    }
    if (!MaskOf(0).empty() || std::count(names.begin(), names.end(), "") > 0) {
      return UnrolledPass(pass, first_state);
    }
    std::vector<OnnxGraph::Attribute> attributes = {
        {"activations", names},
        {"activation_alpha", alphas},
        {"activation_beta", std::vector<float>(names.size(), 0.5f)},
        {"direction", pass.goes_backwards ? "reverse" : "forward"},
        {"hidden_size", pass.units}};
    if (is_gru) attributes.push_back({"linear_before_reset", int64_t{pass.resets_after}});
    std::vector<std::string> inputs = {
        Transpose(In(), {1, 0, 2}),
        graph_.Constant({1, width, pass.input_width}, Gates(Values(pass.first_variable), pass),
                        WeightName(pass.first_variable)),
        graph_.Constant({1, width, pass.units}, Gates(Values(pass.first_variable + 1), pass),
                        WeightName(pass.first_variable + 1))};
    if (pass.use_bias) inputs.push_back(RecurrentBias(pass));
    const auto& recurrent = As<RecurrentLayer>();
    if (recurrent.has_initial_states()) {
      inputs.resize(5);  // The bias, if there is none, and the lengths of the sequences.
      for (int state = 0; state < pass.states(); ++state) {
        inputs.push_back(graph_.Add(
            "Reshape", {In(1 + first_state + state), graph_.Integers({1, -1, pass.units})}));
      }
    }
    const char* const op = is_simple ? "RNN" : is_gru ? "GRU" : "LSTM";
    PassResult result;
    if (recurrent.returns_states()) {
      // All steps, then the states.
      std::vector<std::string> outputs =
          graph_.AddSeveral(op, inputs, attributes, 1 + pass.states());
      for (size_t i = 1; i < outputs.size(); ++i) {
        result.states.push_back(graph_.Reshape(outputs[i], {pass.units}));
      }
      result.output = recurrent.returns_sequences() ? outputs[0] : result.states[0];
    } else if (recurrent.returns_sequences()) {
      result.output = graph_.Add(op, inputs, attributes);
    } else {
      result.output =
          graph_.Reshape(graph_.Add(op, inputs, attributes, /*output=*/1), {pass.units});
    }
    if (!recurrent.returns_sequences()) return result;
    // (steps, directions, batch, units)
    result.output =
        graph_.Reshape(Transpose(result.output, {2, 0, 1, 3}), {pass.steps, pass.units});
    if (pass.goes_backwards) result.output = Reversed(result.output);
    return result;
  }

  OnnxGraph graph_;
};

}  // namespace

absl::StatusOr<std::vector<std::string>> WriteOnnxFile(const proto::ModelSpec& spec,
                                                       absl::Span<const NamedTensor> weights) {
  CAIRN_ASSIGN_OR_RETURN(const auto model, Model::CreateForExport(spec));
  CAIRN_RETURN_IF_ERROR(CheckWeights(model->variables(), weights));
  int64_t bytes = 0;
  for (const NamedTensor& tensor : weights) bytes += tensor.values.size() * sizeof(float);
  if (bytes > kWeightBytesMax) {
    return absl::InvalidArgumentError("the model is too large for an ONNX file: 2 GiB at most");
  }
  CAIRN_ASSIGN_OR_RETURN(std::string file, Writer(spec, *model, weights).Write());
  return std::vector<std::string>{std::move(file)};
}

}  // namespace cairn::nn
