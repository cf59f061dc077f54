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
#include "nn/formats/layer_writers.h"
#include "nn/formats/onnx_graph.h"
#include "nn/layers/activation_layer.h"
#include "nn/layers/affine.h"
#include "nn/layers/attention.h"
#include "nn/layers/batch_normalization.h"
#include "nn/layers/category_encoding.h"
#include "nn/layers/concatenate.h"
#include "nn/layers/conv2d.h"
#include "nn/layers/conv2d_transpose.h"
#include "nn/layers/dot.h"
#include "nn/layers/global_pooling.h"
#include "nn/layers/input.h"
#include "nn/layers/layer_normalization.h"
#include "nn/layers/layer_output.h"
#include "nn/layers/merge.h"
#include "nn/layers/pooling2d.h"
#include "nn/layers/rearranging.h"
#include "nn/layers/recurrent.h"
#include "nn/layers/resizing.h"
#include "nn/layers/separable_conv2d.h"
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

class Writer {
 public:
  Writer(const proto::ModelSpec& spec, const Model& model, absl::Span<const NamedTensor> weights)
      : spec_(spec), model_(model), weights_(weights), graph_(spec.name()) {}

  absl::StatusOr<std::string> Write() {
    for (const int node : model_.input_nodes()) {
      const Layer& layer = *model_.nodes()[node].layer;
      if (IsText(layer)) {
        graph_.TextInput(layer.name(), layer.output().shape);
      } else {
        graph_.Input(layer.name(), layer.output());
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

  absl::StatusOr<std::string> WriteLayer() {
    const Maker write = LayerWriters<Writer>::Find(layer().class_name());
    if (write == nullptr) return Refuse("an ONNX export does not have this layer");
    for (const int mask : model_.nodes()[node_].masks) {
      if (mask >= 0) return Refuse("an ONNX export has no masks (mask_zero)");
    }
    return (this->*write)();
  }

  const Layer& layer() const { return *model_.nodes()[node_].layer; }
  template <typename T>
  const T& As() const {
    return static_cast<const T&>(layer());
  }

  absl::Status Refuse(const char* reason) const {
    return absl::InvalidArgumentError(
        absl::StrCat("layer '", layer().name(), "' (", layer().class_name(), "): ", reason));
  }

  // An input of the layer, as floats.
  std::string In(int i = 0) {
    const int input = model_.nodes()[node_].inputs[i];
    if (model_.nodes()[input].layer->output().type != proto::INT32) return values_[input];
    return graph_.Add("Cast", {values_[input]}, {{"to", int64_t{onnx::TensorProto::FLOAT}}});
  }

  const std::vector<float>& Values(int variable) const {
    return weights_[model_.nodes()[node_].first_variable + variable].values;
  }
  const Shape& VariableShape(int variable) const {
    return layer().variables()[variable].spec.shape;
  }
  // The name of a variable, which a constant has that is nothing but its values.
  const std::string& WeightName(int variable) const {
    return weights_[model_.nodes()[node_].first_variable + variable].name;
  }
  std::string Weight(int variable) {
    return graph_.Constant(VariableShape(variable), Values(variable), WeightName(variable));
  }

  std::string Activate(const Activation& activation, const std::string& x) {
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
      case Kind::kSparsePlus: {
        // ((x, clipped to [-1, 1]) + 1)^2 / 4 + max(x - 1, 0)
        const std::string half = graph_.Add("HardSigmoid", {x}, {{"alpha", 0.5f}, {"beta", 0.5f}});
        const std::string above = graph_.Add("Relu", {graph_.Add("Sub", {x, graph_.Scalar(1)})});
        return graph_.Add("Add", {graph_.Add("Mul", {half, half}), above});
      }
      case Kind::kSquareplus: {
        const std::string square = graph_.Add("Add", {graph_.Add("Mul", {x, x}), graph_.Scalar(4)});
        const std::string sum = graph_.Add("Add", {x, graph_.Add("Sqrt", {square})});
        return graph_.Add("Mul", {sum, graph_.Scalar(0.5f)});
      }
      case Kind::kTanhShrink:
        return graph_.Add("Sub", {x, graph_.Add("Tanh", {x})});
      case Kind::kCos:
      case Kind::kLog:
      case Kind::kReciprocal:
      case Kind::kSign:
      case Kind::kSin:
      case Kind::kSqrt:
        return graph_.Add(activation.operation_name(), {x});
    }
    return x;
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

  absl::StatusOr<std::string> Input() { return layer().name(); }
  absl::StatusOr<std::string> Identity() { return graph_.Reshape(In(), layer().output().shape); }
  absl::StatusOr<std::string> Same() { return In(); }
  absl::StatusOr<std::string> Reshape() { return graph_.Reshape(In(), layer().output().shape); }
  absl::StatusOr<std::string> OnlyActivation() { return Activate(layer().activation(), In()); }
  absl::StatusOr<std::string> PRelu() { return graph_.Add("PRelu", {In(), Weight(0)}); }

  std::string WithBias(const std::string& x, int variable) {
    const bool has_bias = static_cast<int>(layer().variables().size()) > variable;
    return has_bias ? graph_.Add("Add", {x, Weight(variable)}) : x;
  }

  absl::StatusOr<std::string> Dense() {
    const std::string product = graph_.Add("MatMul", {In(), Weight(0)});
    return Activate(layer().activation(), WithBias(product, 1));
  }

  absl::StatusOr<std::string> Embedding() {
    const std::string ids = values_[model_.nodes()[node_].inputs[0]];
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

  absl::StatusOr<std::string> CategoryEncoding() {
    using Mode = CategoryEncodingLayer::Mode;
    const auto& encoding = As<CategoryEncodingLayer>();
    return Encode(graph_.Add("Floor", {In()}), encoding.tokens(), encoding.mode() == Mode::kCount);
  }

  // A vocabulary without an index for other texts gives them NaN.
  absl::StatusOr<std::string> StringLookup() {
    using Mode = StringLookupLayer::Mode;
    const auto& lookup = As<StringLookupLayer>();
    std::vector<float> indices(lookup.vocabulary().size());
    std::iota(indices.begin(), indices.end(), lookup.takes_unknown() ? 1.0f : 0.0f);
    const float unknown = lookup.takes_unknown() ? 0 : std::numeric_limits<float>::quiet_NaN();
    const std::string index =
        graph_.AddMl("LabelEncoder", {values_[model_.nodes()[node_].inputs[0]]},
                     {{"keys_strings", lookup.vocabulary()},
                      {"values_floats", indices},
                      {"default_float", unknown}});
    if (lookup.mode() == Mode::kInt) return index;
    return Encode(index, lookup.tokens(), lookup.mode() == Mode::kCount);
  }

  absl::StatusOr<std::string> Affine() {
    const auto& affine = As<AffineLayer>();
    std::vector<double> scales = affine.scales();
    std::vector<double> offsets = affine.offsets();
    for (size_t i = 0; affine.has_variables() && i < Values(0).size(); ++i) {
      scales.push_back(AffineLayer::ScaleOf(Values(1)[i]));
      offsets.push_back(-Values(0)[i] * scales.back());
    }
    return ScaleAndShift(In(), scales, offsets);
  }

  std::string ScaleAndShift(const std::string& x, const std::vector<double>& scales,
                            const std::vector<double>& offsets) {
    const auto constant = [this](const std::vector<double>& numbers) {
      return graph_.Constant({static_cast<int64_t>(numbers.size())},
                             std::vector<float>(numbers.begin(), numbers.end()));
    };
    return graph_.Add("Add", {graph_.Add("Mul", {x, constant(scales)}), constant(offsets)});
  }

  absl::StatusOr<std::string> BatchNormalization() {
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

  absl::StatusOr<std::string> LayerNormalization() {
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

  absl::StatusOr<std::string> Merge() {
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

  absl::StatusOr<std::string> Concatenate() {
    std::vector<std::string> inputs;
    for (size_t i = 0; i < layer().inputs().size(); ++i) inputs.push_back(In(i));
    return graph_.Add("Concat", inputs, {{"axis", As<ConcatenateLayer>().axis() + 1}});
  }

  absl::StatusOr<std::string> Dot() {
    const auto& dot = As<DotLayer>();
    if (dot.normalizes()) return Refuse("an ONNX export has no Dot that normalizes");
    std::string sides[2];
    for (int i = 0; i < 2; ++i) {
      const DotLayer::Side& side = dot.sides()[i];
      sides[i] = graph_.Reshape(In(i), {side.outer, side.length, side.inner});
    }
    const std::string product =
        graph_.Add("Einsum", {sides[0], sides[1]}, {{"equation", "buvw,bxvy->buwxy"}});
    return graph_.Reshape(product, layer().output().shape);
  }

  // Images have their channels last, and ONNX has them first.
  std::string ChannelsFirst(const std::string& x, const Shape& image) {
    return graph_.Add("Transpose", {graph_.Reshape(x, image)}, {{"perm", Ints{0, 3, 1, 2}}});
  }
  std::string ChannelsLast(const std::string& x) {
    const std::string last = graph_.Add("Transpose", {x}, {{"perm", Ints{0, 2, 3, 1}}});
    return graph_.Reshape(last, layer().output().shape);
  }

  static Ints Pads(const Window& window) {
    return {window.padding_before[0], window.padding_before[1], window.padding_after[0],
            window.padding_after[1]};
  }
  static Ints Both(const std::array<int64_t, 2>& numbers) { return {numbers[0], numbers[1]}; }

  // `x` has its channels first, and so has the result. `filters` are those of all groups.
  std::string Convolve(const std::string& x, const Window& window, int variable, int64_t filters,
                       int64_t groups) {
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

  absl::StatusOr<std::string> Convolution() {
    const auto& conv = As<Conv2DLayer>();
    const std::string x = ChannelsFirst(In(), conv.input_image());
    const std::string y = Convolve(x, conv.window(), 0, conv.output_image()[2], conv.groups());
    return Activate(layer().activation(), WithBias(ChannelsLast(y), 1));
  }

  absl::StatusOr<std::string> SeparableConvolution() {
    const auto& conv = As<SeparableConv2DLayer>();
    const std::string x = ChannelsFirst(In(), conv.input_image());
    const std::string between =
        Convolve(x, conv.window(), 0, conv.between_image()[2], conv.input_image()[2]);
    const std::string y = Convolve(between, Window(), 1, conv.output_image()[2], 1);
    return Activate(layer().activation(), WithBias(ChannelsLast(y), 2));
  }

  absl::StatusOr<std::string> TransposedConvolution() {
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
    const std::string y =
        graph_.Add("ConvTranspose", {ChannelsFirst(In(), conv.input_image()), kernel},
                   {{"dilations", Both(window.dilation)},
                    {"output_padding", extra},
                    {"pads", pads},
                    {"strides", Both(window.strides)}});
    return Activate(layer().activation(), WithBias(ChannelsLast(y), 1));
  }

  absl::StatusOr<std::string> Pooling() {
    const auto& pooling = As<Pooling2DLayer>();
    const Window& window = pooling.window();
    const bool is_maximum = pooling.kind() == Pooling2DLayer::Kind::kMaximum;
    const std::string y = graph_.Add(is_maximum ? "MaxPool" : "AveragePool",
                                     {ChannelsFirst(In(), pooling.input_image())},
                                     {{"kernel_shape", Both(window.size)},
                                      {"pads", Pads(window)},
                                      {"strides", Both(window.strides)}});
    return ChannelsLast(y);
  }

  absl::StatusOr<std::string> GlobalPooling() {
    const bool is_maximum = As<GlobalPoolingLayer>().kind() == GlobalPoolingLayer::Kind::kMaximum;
    Ints axes(layer().inputs()[0].shape.size() - 1);
    std::iota(axes.begin(), axes.end(), 1);
    const std::string y = graph_.Add(is_maximum ? "ReduceMax" : "ReduceMean", {In()},
                                     {{"axes", axes}, {"keepdims", int64_t{0}}});
    return graph_.Reshape(y, layer().output().shape);
  }

  // A negative padding crops.
  absl::StatusOr<std::string> Pad() {
    Ints before = {0}, after = {0};
    for (const AxisMapping& mapping : As<RearrangingLayer>().mappings()) {
      before.push_back(mapping.offset);
      after.push_back(mapping.length - mapping.offset - mapping.input_length);
    }
    before.insert(before.end(), after.begin(), after.end());
    return graph_.Add("Pad", {In(), graph_.Integers(before)});
  }

  absl::StatusOr<std::string> Permute() {
    Ints order = {0};
    const auto& fields = spec_.layers(node_).config().fields();
    for (const auto& dimension : fields.at("dims").list_value().values()) {
      order.push_back(static_cast<int64_t>(dimension.number_value()));
    }
    return graph_.Add("Transpose", {In()}, {{"perm", order}});
  }

  absl::StatusOr<std::string> Repeat() {
    const Shape& shape = layer().output().shape;
    return graph_.Add(
        "Expand", {graph_.Reshape(In(), {1, shape[1]}), graph_.Integers({1, shape[0], shape[1]})});
  }

  absl::StatusOr<std::string> Resizing() {
    const Resize& resize = As<ResizingLayer>().resize();
    Shape image = layer().inputs()[0].shape;
    Ints sizes = {image.back()};
    for (const ResizedAxis& axis : resize.axes) {
      if (axis.start != 0 || axis.extent != axis.input) {
        return Refuse("an ONNX export has no Resizing that crops");
      }
      sizes.push_back(axis.output);
    }
    image = {resize.axes[0].input, resize.axes[1].input, image.back()};
    // Sizes include the batch, which is not known: the channels are the first axis of each image.
    const std::string x = ChannelsFirst(In(), image);
    const std::string scales = graph_.Constant({4}, {1, 1, static_cast<float>(sizes[1]) / image[0],
                                                     static_cast<float>(sizes[2]) / image[1]});
    std::vector<OnnxGraph::Attribute> attributes = {
        {"coordinate_transformation_mode", "half_pixel"},
        {"mode", resize.nearest ? "nearest" : "linear"}};
    if (resize.nearest) attributes.push_back({"nearest_mode", "round_prefer_ceil"});
    return ChannelsLast(graph_.Add("Resize", {x, "", scales}, attributes));
  }

  std::string Einsum(const char* equation, const std::string& a, const std::string& b) {
    return graph_.Add("Einsum", {a, b}, {{"equation", equation}});
  }

  absl::StatusOr<std::string> Attention() {
    using Part = AttentionLayer::Part;
    const auto& attention = As<AttentionLayer>();
    const auto project = [&](Part part) {
      std::string y =
          Einsum("bsw,whk->bshk", In(attention.input(part)), Weight(attention.kernel(part)));
      if (attention.use_bias()) y = graph_.Add("Add", {y, Weight(attention.kernel(part) + 1)});
      return graph_.Add("Transpose", {y}, {{"perm", Ints{0, 2, 1, 3}}});
    };
    const std::string query = graph_.Add(
        "Mul", {project(Part::kQuery),
                graph_.Scalar(1 / std::sqrt(static_cast<float>(attention.key_width())))});
    std::string scores = Einsum("bhsk,bhtk->bhst", query, project(Part::kKey));
    if (attention.is_causal()) {
      std::vector<float> later;
      for (int64_t i = 0; i < attention.steps(); ++i) {
        for (int64_t j = 0; j < attention.positions(); ++j) later.push_back(j > i ? -1e9f : 0);
      }
      scores = graph_.Add(
          "Add", {scores, graph_.Constant({attention.steps(), attention.positions()}, later)});
    }
    const std::string shares = graph_.Add("Softmax", {scores}, {{"axis", int64_t{-1}}});
    const std::string values = Einsum("bhst,bhtv->bhsv", shares, project(Part::kValue));
    const std::string y = Einsum("bhsv,hvo->bso", values, Weight(attention.kernel(Part::kOutput)));
    return attention.use_bias()
               ? graph_.Add("Add", {y, Weight(attention.kernel(Part::kOutput) + 1)})
               : y;
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

  // One direction. Its outputs are that of the layer and, with return_state, the last states.
  // `first_state` counts the states of the passes before it. A sequence that goes backwards has its
  // last step first, as in Keras.
  absl::StatusOr<std::vector<std::string>> Pass(const RecurrentPass& pass, int first_state) {
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
    if (std::count(names.begin(), names.end(), "") > 0) {
      return Refuse("a recurrent layer of ONNX does not have this activation");
    }
    std::vector<OnnxGraph::Attribute> attributes = {
        {"activations", names},
        {"activation_alpha", alphas},
        {"activation_beta", std::vector<float>(names.size(), 0.5f)},
        {"direction", pass.goes_backwards ? "reverse" : "forward"},
        {"hidden_size", pass.units}};
    if (is_gru) attributes.push_back({"linear_before_reset", int64_t{pass.resets_after}});
    std::vector<std::string> inputs = {
        graph_.Add("Transpose", {In()}, {{"perm", Ints{1, 0, 2}}}),
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
    std::vector<std::string> results;
    if (recurrent.returns_states()) {
      // All steps, then the states.
      results = graph_.AddSeveral(op, inputs, attributes, 1 + pass.states());
      for (size_t i = 1; i < results.size(); ++i) {
        results[i] = graph_.Reshape(results[i], {pass.units});
      }
      if (!recurrent.returns_sequences()) results[0] = results[1];
    } else if (recurrent.returns_sequences()) {
      results = {graph_.Add(op, inputs, attributes)};
    } else {
      results = {graph_.Reshape(graph_.Add(op, inputs, attributes, /*output=*/1), {pass.units})};
    }
    if (!recurrent.returns_sequences()) return results;
    // (steps, directions, batch, units)
    results[0] = graph_.Reshape(graph_.Add("Transpose", {results[0]}, {{"perm", Ints{2, 0, 1, 3}}}),
                                {pass.steps, pass.units});
    if (pass.goes_backwards) results[0] = Reversed(results[0]);
    return results;
  }

  std::string Reversed(const std::string& sequence) {
    constexpr int64_t kBeforeFirst = std::numeric_limits<int64_t>::min();
    return graph_.Add("Slice", {sequence, graph_.Integers({-1}), graph_.Integers({kBeforeFirst}),
                                graph_.Integers({1}), graph_.Integers({-1})});
  }

  absl::StatusOr<std::string> Recurrent() {
    using Merge = RecurrentLayer::Merge;
    const auto& recurrent = As<RecurrentLayer>();
    const RecurrentPass& first = recurrent.passes()[0];
    std::vector<std::string>& outputs = outputs_[node_];
    CAIRN_ASSIGN_OR_RETURN(outputs, Pass(first, 0));
    if (recurrent.passes().size() == 1) return outputs[0];
    CAIRN_ASSIGN_OR_RETURN(const auto others, Pass(recurrent.passes()[1], first.states()));
    outputs.insert(outputs.end(), others.begin() + 1, others.end());
    const std::string other = recurrent.returns_sequences() ? Reversed(others[0]) : others[0];
    std::string& y = outputs[0];
    switch (recurrent.merge()) {
      case Merge::kConcatenate:
        return y = graph_.Add("Concat", {y, other}, {{"axis", int64_t{-1}}});
      case Merge::kSum:
        return y = graph_.Add("Add", {y, other});
      case Merge::kMultiply:
        return y = graph_.Add("Mul", {y, other});
      case Merge::kAverage:
        return y = graph_.Add("Mean", {y, other});
    }
    return y;
  }

  absl::StatusOr<std::string> LayerOutput() {
    return outputs_.at(model_.nodes()[node_].inputs[0])[As<LayerOutputLayer>().index()];
  }

  const proto::ModelSpec& spec_;
  const Model& model_;
  const absl::Span<const NamedTensor> weights_;
  OnnxGraph graph_;
  int node_ = 0;                                     // The layer that is written.
  std::vector<std::string> values_;                  // By node: its output.
  std::map<int, std::vector<std::string>> outputs_;  // By recurrent layer: what it returns.
};

}  // namespace

absl::StatusOr<std::vector<std::string>> WriteOnnxFile(const proto::ModelSpec& spec,
                                                       absl::Span<const NamedTensor> weights) {
  CAIRN_ASSIGN_OR_RETURN(const auto model, Model::Create(spec));
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
