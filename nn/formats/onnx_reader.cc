#include "nn/formats/onnx_reader.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "nn/formats/onnx_call.h"
#include "nn/formats/onnx_constant.h"
#include "nn/formats/onnx_encoding.h"
#include "nn/formats/onnx_layers.h"
#include "nn/formats/onnx_node.h"
#include "nn/formats/onnx_operators.h"
#include "nn/formats/onnx_pattern.h"
#include "nn/formats/onnx_recurrent.h"
#include "nn/formats/onnx_shapes.h"
#include "nn/formats/onnx_value.h"
#include "nn/formats/onnx_windows.h"
#include "proto/onnx.pb.h"

namespace cairn::nn {
namespace {

constexpr int kNodesMax = 100'000;
constexpr size_t kRankMax = 8;

absl::Status Error(const std::string& reason) { return absl::InvalidArgumentError(reason); }

// All operators that are read.
constexpr std::pair<const char*, OnnxOperator> kOperators[] = {
    {"Add", ReadOnnxAdd},
    {"AveragePool", ReadOnnxPool},
    {"BatchNormalization", ReadOnnxBatchNormalization},
    {"Cast", ReadOnnxCast},
    {"Ceil", ReadOnnxActivation},
    {"Celu", ReadOnnxActivation},
    {"Clip", ReadOnnxClip},
    {"Concat", ReadOnnxConcat},
    {"Conv", ReadOnnxConv},
    {"ConvTranspose", ReadOnnxConvTranspose},
    {"Cos", ReadOnnxActivation},
    {"Div", ReadOnnxDiv},
    {"Dropout", ReadOnnxDropout},
    {"Einsum", ReadOnnxEinsum},
    {"Elu", ReadOnnxActivation},
    {"Equal", ReadOnnxPartOfEncoding},
    {"Erf", ReadOnnxActivation},
    {"Exp", ReadOnnxActivation},
    {"Expand", ReadOnnxExpand},
    {"Flatten", ReadOnnxFlatten},
    {"Floor", ReadOnnxActivation},
    {"GRU", ReadOnnxRecurrent},
    {"Gather", ReadOnnxGather},
    {"Gelu", ReadOnnxActivation},
    {"Gemm", ReadOnnxGemm},
    {"GlobalAveragePool", ReadOnnxGlobalPool},
    {"GlobalMaxPool", ReadOnnxGlobalPool},
    {"GroupNormalization", ReadOnnxGroupNormalization},
    {"HardSigmoid", ReadOnnxActivation},
    {"HardSwish", ReadOnnxActivation},
    {"Identity", ReadOnnxIdentity},
    {"InstanceNormalization", ReadOnnxGroupNormalization},
    {"LSTM", ReadOnnxRecurrent},
    {"LabelEncoder", ReadOnnxLabelEncoder},
    {"LayerNormalization", ReadOnnxLayerNormalization},
    {"LeakyRelu", ReadOnnxActivation},
    {"Log", ReadOnnxActivation},
    {"LogSoftmax", ReadOnnxSoftmax},
    {"MatMul", ReadOnnxMatMul},
    {"Max", ReadOnnxMax},
    {"MaxPool", ReadOnnxPool},
    {"Mean", ReadOnnxMean},
    {"Min", ReadOnnxMin},
    {"Mish", ReadOnnxActivation},
    {"Mul", ReadOnnxMul},
    {"Neg", ReadOnnxNeg},
    {"PRelu", ReadOnnxPRelu},
    {"Pad", ReadOnnxPad},
    {"Pow", ReadOnnxPow},
    {"RNN", ReadOnnxRecurrent},
    {"Reciprocal", ReadOnnxActivation},
    {"ReduceMax", ReadOnnxReduce},
    {"ReduceMean", ReadOnnxReduce},
    {"ReduceSum", ReadOnnxReduce},
    {"Relu", ReadOnnxActivation},
    {"Reshape", ReadOnnxReshape},
    {"Resize", ReadOnnxResize},
    {"Selu", ReadOnnxActivation},
    {"Shrink", ReadOnnxActivation},
    {"Sigmoid", ReadOnnxActivation},
    {"Sign", ReadOnnxActivation},
    {"Sin", ReadOnnxActivation},
    {"Slice", ReadOnnxSlice},
    {"Softmax", ReadOnnxSoftmax},
    {"Softplus", ReadOnnxActivation},
    {"Softsign", ReadOnnxActivation},
    {"Split", ReadOnnxSplit},
    {"Sqrt", ReadOnnxActivation},
    {"Squeeze", ReadOnnxSqueeze},
    {"Sub", ReadOnnxSub},
    {"Sum", ReadOnnxAdd},
    {"Swish", ReadOnnxActivation},
    {"Tanh", ReadOnnxActivation},
    {"ThresholdedRelu", ReadOnnxActivation},
    {"Transpose", ReadOnnxTranspose},
    {"Unsqueeze", ReadOnnxUnsqueeze},
    {"Upsample", ReadOnnxResize},
};

// Null: there is no such operator.
OnnxOperator FindOperator(const std::string& name) {
  for (const auto& [known, read] : kOperators) {
    if (name == known) return read;
  }
  return nullptr;
}

// Operators that are one layer together.
struct Pattern {
  std::vector<std::string> inputs;
  std::function<OnnxOutputs(const OnnxCall&)> read;
};

class Reader {
 public:
  Reader(const onnx::ModelProto& model, size_t file_bytes)
      : model_(model),
        graph_(model.graph()),
        // Each weight is read, moved and stored; some are used twice.
        budget_(static_cast<int64_t>(file_bytes) * 8 + (int64_t{1} << 20)),
        layers_(&budget_) {}

  absl::StatusOr<ImportedModel> Read() {
    CAIRN_RETURN_IF_ERROR(CheckModel());
    CAIRN_RETURN_IF_ERROR(IndexNames());
    FindPatterns();
    CAIRN_RETURN_IF_ERROR(ReadInputs());
    for (int i = 0; i < graph_.node_size(); ++i) {
      if (is_needed_[i]) CAIRN_RETURN_IF_ERROR(ReadNode(i));
    }
    return Finish();
  }

 private:
  absl::Status CheckModel() {
    if (!model_.has_graph() || graph_.node_size() == 0) return Error("the ONNX file has no graph");
    if (graph_.node_size() > kNodesMax) {
      return Error(
          absl::StrCat("the graph has ", graph_.node_size(), " nodes, more than ", kNodesMax));
    }
    constexpr int kEndsMax = 100;
    if (graph_.output_size() > kEndsMax ||
        graph_.input_size() - graph_.initializer_size() > kEndsMax) {
      return Error(absl::StrCat("the graph has more than ", kEndsMax, " inputs or outputs"));
    }
    if (graph_.sparse_initializer_size() > 0) return Error("sparse initializers are not supported");
    for (const auto& set : model_.opset_import()) {
      if (set.domain().empty() || set.domain() == "ai.onnx") opset_ = set.version();
    }
    constexpr int64_t kOldest = 7;
    if (opset_ < kOldest) {
      return Error(absl::StrCat("the file has the operator set ", opset_, "; supported: ", kOldest,
                                " and newer. Convert it with onnx.version_converter, or export it "
                                "again"));
    }
    return absl::OkStatus();
  }

  // Each name is given once, and before it is used.
  absl::Status IndexNames() {
    std::set<std::string> names;
    const auto define = [&names](const std::string& name) {
      if (names.insert(name).second) return absl::OkStatus();
      return Error(absl::StrCat("two values have the name '", name, "'"));
    };
    for (const auto& tensor : graph_.initializer()) {
      CAIRN_RETURN_IF_ERROR(define(tensor.name()));
      initializers_[tensor.name()] = &tensor;
    }
    for (const auto& input : graph_.input()) {
      // Files of old versions list the initializers among the inputs.
      if (initializers_.count(input.name()) == 0) CAIRN_RETURN_IF_ERROR(define(input.name()));
    }
    names.insert("");
    for (const auto& node : graph_.node()) {
      for (const std::string& input : node.input()) {
        if (names.count(input) == 0) {
          return OnnxNode(&node, opset_)
              .Error(absl::StrCat("its input '", input, "' is not a value before it"));
        }
      }
      for (const std::string& output : node.output()) {
        if (output.empty()) continue;
        CAIRN_RETURN_IF_ERROR(define(output));
        producers_[output] = &node;
      }
    }
    return absl::OkStatus();
  }

  // The only element of an initializer or a Constant.
  std::optional<double> ScalarOf(const std::string& name) {
    const onnx::TensorProto* tensor = nullptr;
    if (const auto found = initializers_.find(name); found != initializers_.end()) {
      tensor = found->second;
    }
    const auto producer = producers_.find(name);
    if (producer != producers_.end() && producer->second->op_type() == "Constant") {
      tensor = OnnxNode(producer->second, opset_).Tensor("value");
      if (tensor == nullptr) {
        const OnnxNode node(producer->second, opset_);
        if (node.Has("value_float")) return node.Float("value_float", 0);
        return std::nullopt;
      }
    }
    if (tensor == nullptr || tensor->raw_data().size() > sizeof(double) ||
        tensor->float_data_size() > 1 || tensor->double_data_size() > 1) {
      return std::nullopt;
    }
    const auto constant = ReadOnnxTensor(*tensor, &budget_);
    if (!constant.ok() || constant->size() != 1) return std::nullopt;
    return constant->number();
  }

  // Which nodes the outputs need, from the last to the first, and which of them end the pattern of
  // a layer: the nodes within it are not needed then.
  void FindPatterns() {
    const OnnxNames names = {.producer = [this](const std::string& name) -> const onnx::NodeProto* {
                               const auto found = producers_.find(name);
                               return found == producers_.end() ? nullptr : found->second;
                             },
                             .scalar = [this](const std::string& name) { return ScalarOf(name); }};
    for (const auto& output : graph_.output()) ++uses_[output.name()];
    is_needed_.assign(graph_.node_size(), false);
    for (int i = graph_.node_size(); i-- > 0;) {
      const onnx::NodeProto& node = graph_.node(i);
      for (const std::string& output : node.output()) {
        if (uses_.count(output) > 0) is_needed_[i] = true;
      }
      if (!is_needed_[i]) continue;
      if (auto pattern = FindPattern(node, names)) {
        for (const std::string& input : pattern->inputs) ++uses_[input];
        patterns_[i] = *std::move(pattern);
        continue;
      }
      for (const std::string& input : node.input()) ++uses_[input];
    }
  }

  static std::optional<Pattern> FindPattern(const onnx::NodeProto& node, const OnnxNames& names) {
    if (const auto found = FindOnnxAttention(node, names)) {
      return Pattern{found->inputs, [attention = *found](const OnnxCall& call) {
                       return ReadOnnxAttention(call, attention);
                     }};
    }
    if (const auto found = FindOnnxActivation(node, names)) {
      return Pattern{{found->x}, [activation = *found](const OnnxCall& call) {
                       return ApplyOnnxActivation(call, activation);
                     }};
    }
    if (const auto found = FindOnnxEncoding(node, names)) {
      std::vector<std::string> inputs = {found->x};
      if (!found->table.empty()) inputs.push_back(found->table);
      return Pattern{std::move(inputs), [encoding = *found](const OnnxCall& call) {
                       return ReadOnnxEncoding(call, encoding);
                     }};
    }
    return std::nullopt;
  }

  // Whether ONNX's images of this input have their channels first: an operator that wants them so
  // uses it before any Transpose.
  bool IsChannelsFirst(const std::string& input) const {
    static const auto* const kWants = new std::set<std::string>{"AveragePool",
                                                                "BatchNormalization",
                                                                "Conv",
                                                                "ConvTranspose",
                                                                "GlobalAveragePool",
                                                                "GlobalMaxPool",
                                                                "GroupNormalization",
                                                                "MaxPool",
                                                                "Resize",
                                                                "Upsample",
                                                                "InstanceNormalization"};
    static const auto* const kPasses = new std::set<std::string>{
        "Add", "Cast", "Clip", "Concat",  "Div", "Dropout", "Identity", "LeakyRelu",
        "Mul", "Neg",  "Pad",  "Sigmoid", "Sub", "Relu",    "Tanh"};
    std::set<std::string> reached = {input};
    for (int i = 0; i < graph_.node_size(); ++i) {
      const onnx::NodeProto& node = graph_.node(i);
      if (!is_needed_[i] || node.input_size() == 0) continue;
      const bool uses =
          std::any_of(node.input().begin(), node.input().end(),
                      [&](const std::string& name) { return reached.count(name) > 0; });
      if (uses && kWants->count(node.op_type()) > 0) return true;
      if (uses && kPasses->count(node.op_type()) > 0 && node.output_size() > 0) {
        reached.insert(node.output(0));
      }
    }
    return false;
  }

  absl::Status ReadInputs() {
    for (const auto& input : graph_.input()) {
      if (initializers_.count(input.name()) > 0) continue;
      if (absl::Status status = ReadInput(input); !status.ok()) {
        return Error(absl::StrCat("input '", input.name(), "': ", status.message()));
      }
    }
    return absl::OkStatus();
  }

  // The axis that is the batch: the only one without a fixed size, or the first one.
  static int BatchAxis(const onnx::TensorShapeProto& shape) {
    int open = -1;
    for (int i = 0; i < shape.dim_size(); ++i) {
      const bool is_open =
          shape.dim(i).value_case() != onnx::TensorShapeProto::Dimension::kDimValue;
      if (is_open) return open < 0 && i > 0 && OnlyOpen(shape, i) ? i : 0;
    }
    return 0;
  }

  static bool OnlyOpen(const onnx::TensorShapeProto& shape, int axis) {
    for (int i = 0; i < shape.dim_size(); ++i) {
      const bool is_open =
          shape.dim(i).value_case() != onnx::TensorShapeProto::Dimension::kDimValue;
      if (is_open != (i == axis)) return false;
    }
    return true;
  }

  absl::Status ReadInput(const onnx::ValueInfoProto& input) {
    const auto& type = input.type().tensor_type();
    if (!input.type().has_tensor_type() || !type.has_shape() || type.shape().dim_size() == 0) {
      return Error("has no shape; export the model with fixed sizes but for the batch");
    }
    if (type.shape().dim_size() > static_cast<int>(kRankMax)) return Error("has more than 8 axes");
    using Type = onnx::TensorProto;
    const std::map<int, const char*> types = {{Type::FLOAT, "float32"},   {Type::DOUBLE, "float32"},
                                              {Type::FLOAT16, "float32"}, {Type::INT64, "int64"},
                                              {Type::INT32, "int32"},     {Type::UINT8, "uint8"},
                                              {Type::STRING, "string"}};
    const auto dtype = types.find(type.elem_type());
    if (dtype == types.end()) {
      return Error(
          absl::StrCat("has the data type ", static_cast<int>(type.elem_type()),
                       "; supported: float, double, float16, int64, int32, uint8, string"));
    }
    const int batch = BatchAxis(type.shape());
    std::vector<int> axes;  // Of ONNX, in the order of the layer's.
    for (int i = 0; i < type.shape().dim_size(); ++i) {
      const auto& dim = type.shape().dim(i);
      if (i == batch && dim.value_case() == onnx::TensorShapeProto::Dimension::kDimValue) {
        file_batch_ = dim.dim_value();
      }
      if (i == batch) continue;
      axes.push_back(i);
      if (dim.dim_value() >= 1 && dim.dim_value() <= kTensorElementsMax) continue;
      return Error(absl::StrCat("axis ", i, " has no fixed size",
                                dim.dim_param().empty() ? "" : " ('", dim.dim_param(),
                                dim.dim_param().empty() ? "" : "')",
                                "; only the batch may be open: export with example inputs of the "
                                "sizes that the model is for"));
    }
    const bool is_image = axes.size() >= 2;
    const bool is_first = is_image && batch == 0 && IsChannelsFirst(input.name());
    if (is_first) std::rotate(axes.begin(), axes.begin() + 1, axes.end());
    keeps_layout_ = keeps_layout_ || (is_image && !is_first);
    return AddInput(input, dtype->second, batch, axes);
  }

  absl::Status AddInput(const onnx::ValueInfoProto& input, const char* dtype, int batch,
                        const std::vector<int>& axes) {
    google::protobuf::Value shape;
    shape.mutable_list_value()->add_values()->set_null_value(google::protobuf::NULL_VALUE);
    OnnxValue value;
    value.axes.resize(axes.size() + 1);
    value.axes[batch] = {0};
    for (const int axis : axes) {
      value.sizes.push_back(input.type().tensor_type().shape().dim(axis).dim_value());
      value.axes[axis] = {static_cast<int>(value.sizes.size())};
      shape.mutable_list_value()->add_values()->set_number_value(
          static_cast<double>(value.sizes.back()));
    }
    std::string name = input.name();
    for (char& c : name) {
      const bool is_good = absl::ascii_isalnum(c) || c == '_' || c == '-' || c == '.';
      if (!is_good) c = '_';
    }
    CAIRN_ASSIGN_OR_RETURN(
        value.layer,
        layers_.Add(name, "InputLayer",
                    OnnxArguments().Set("batch_shape", shape).Text("dtype", dtype), {}));
    value.is_exclusive = false;
    values_[input.name()] = std::move(value);
    return absl::OkStatus();
  }

  // The constant of this name; null if the name is none.
  absl::StatusOr<const OnnxConstant*> ConstantOf(const std::string& name) {
    if (const auto found = constants_.find(name); found != constants_.end()) return &found->second;
    const auto initializer = initializers_.find(name);
    if (initializer == initializers_.end()) return nullptr;
    CAIRN_ASSIGN_OR_RETURN(OnnxConstant constant, ReadOnnxTensor(*initializer->second, &budget_));
    return &constants_.emplace(name, std::move(constant)).first->second;
  }

  absl::Status ReadNode(int i) {
    const onnx::NodeProto& proto = graph_.node(i);
    const OnnxNode node(&proto, opset_);
    const bool is_lookup = proto.domain() == "ai.onnx.ml" && proto.op_type() == "LabelEncoder";
    if (!proto.domain().empty() && proto.domain() != "ai.onnx" && !is_lookup) {
      return node.Error(
          absl::StrCat("operators of the domain '", proto.domain(), "' are not supported"));
    }
    if (proto.output_size() == 0) return node.Error("has no output");
    OnnxCall call{.node = node, .file_batch = file_batch_, .layers = &layers_, .budget = &budget_};
    for (const std::string& output : proto.output()) {
      call.is_used.push_back(!output.empty() && uses_.count(output) > 0);
    }
    const auto pattern = patterns_.find(i);
    const bool is_pattern = pattern != patterns_.end();
    std::vector<std::string> inputs(proto.input().begin(), proto.input().end());
    if (is_pattern) inputs = pattern->second.inputs;
    bool has_values = false;
    for (const std::string& input : inputs) {
      CAIRN_ASSIGN_OR_RETURN(const OnnxConstant* const constant, ConstantOf(input));
      call.constants.push_back(constant);
      call.values.emplace_back();
      const auto value = values_.find(input);
      if (value == values_.end()) continue;
      has_values = true;
      call.values.back() = value->second;
      call.values.back()->is_exclusive = value->second.is_exclusive && uses_[input] == 1;
    }
    if (!has_values || proto.op_type() == "Shape") return ReadConstant(call);
    const OnnxOperator read = FindOperator(proto.op_type());
    if (!is_pattern && read == nullptr) {
      return node.Error(
          absl::StrCat("this operator is not supported; supported: ",
                       absl::StrJoin(kOperators, ", ", [](std::string* text, const auto& one) {
                         absl::StrAppend(text, one.first);
                       })));
    }
    OnnxOutputs outputs = is_pattern ? pattern->second.read(call) : read(call);
    if (!outputs.ok()) return InNode(node, outputs.status());
    if (!is_pattern) CAIRN_RETURN_IF_ERROR(call.node.CheckAllRead());
    for (int k = 0; k < proto.output_size(); ++k) {
      if (!call.is_used[k]) continue;
      if (k >= static_cast<int>(outputs->size()) || (*outputs)[k].layer < 0) {
        return node.Error(absl::StrCat("its output ", k, " is not supported"));
      }
      if ((*outputs)[k].axes.size() > 2 * kRankMax) return node.Error("has too many axes");
      values_[proto.output(k)] = std::move((*outputs)[k]);
    }
    return absl::OkStatus();
  }

  static absl::Status InNode(const OnnxNode& node, const absl::Status& status) {
    return absl::StartsWith(status.message(), "node '") ? status
                                                        : node.Error(std::string(status.message()));
  }

  // A node that does not depend on the inputs, or only on their shapes.
  absl::Status ReadConstant(const OnnxCall& call) {
    const std::string& op = call.node.op();
    absl::StatusOr<OnnxConstant> constant =
        op == "Constant" ? Given(call.node)
        : op == "Shape"  ? ShapeOf(call)
        : FoldsOnnx(op)  ? FoldOnnx(call.node, call.constants, &budget_)
                         : absl::StatusOr<OnnxConstant>(Error(
                               "computes with constants only, and this operator is not supported "
                                "there; simplify the file (the program onnxsim does it)"));
    if (!constant.ok()) return InNode(call.node, constant.status());
    constants_[call.node.proto().output(0)] = *std::move(constant);
    return absl::OkStatus();
  }

  absl::StatusOr<OnnxConstant> Given(const OnnxNode& node) {
    if (const onnx::TensorProto* const tensor = node.Tensor("value")) {
      CAIRN_ASSIGN_OR_RETURN(OnnxConstant constant, ReadOnnxTensor(*tensor, &budget_));
      constant.name = node.proto().output(0);
      return constant;
    }
    OnnxConstant constant;
    if (node.Has("value_float")) constant.floats = {node.Float("value_float", 0)};
    if (node.Has("value_floats")) constant.floats = node.Floats("value_floats");
    if (node.Has("value_int")) constant.integers = {node.Int("value_int", 0)};
    if (node.Has("value_ints")) constant.integers = *node.Ints("value_ints");
    constant.is_float = node.Has("value_float") || node.Has("value_floats");
    if (!constant.is_float && !node.Has("value_int") && !node.Has("value_ints")) {
      return Error("has neither numbers nor a tensor of numbers");
    }
    if (node.Has("value_floats") || node.Has("value_ints")) {
      constant.shape = {static_cast<int64_t>(constant.size())};
    }
    return constant;
  }

  absl::StatusOr<OnnxConstant> ShapeOf(const OnnxCall& call) {
    Shape shape;
    if (call.HasValue(0)) {
      shape = call.values[0]->shape();
    } else {
      CAIRN_ASSIGN_OR_RETURN(const OnnxConstant* const constant, call.Constant(0));
      shape = constant->shape;
    }
    const auto rank = static_cast<int64_t>(shape.size());
    const auto bound = [rank](int64_t at) {
      return std::clamp<int64_t>(at < 0 ? std::max(at, -rank) + rank : at, 0, rank);
    };
    const int64_t begin = bound(call.node.Int("start", 0));
    const int64_t end = std::max(begin, bound(call.node.Int("end", rank)));
    OnnxConstant result;
    result.is_float = false;
    result.integers.assign(shape.begin() + begin, shape.begin() + end);
    result.shape = {end - begin};
    return result;
  }

  // The layer of an output of the model.
  absl::StatusOr<int> OutputLayer(const std::string& name) {
    const auto found = values_.find(name);
    if (found == values_.end()) return Error("does not depend on the model's inputs");
    const OnnxValue& value = found->second;
    const int batch = value.batch_axis();
    if (batch < 0) return Error("has no axis that is the batch alone");
    std::vector<std::vector<int>> axes;
    for (int axis = 0; axis < value.rank(); ++axis) {
      if (axis != batch) axes.push_back(value.axes[axis]);
    }
    // Images: the channels are last in memory, and stay so unless the file has them last too.
    const bool is_image = batch == 0 && axes.size() >= 2;
    if (is_image && !keeps_layout_ && !axes[0].empty() &&
        axes[0][0] == static_cast<int>(value.sizes.size())) {
      std::rotate(axes.begin(), axes.begin() + 1, axes.end());
    }
    CAIRN_ASSIGN_OR_RETURN(int layer, layers_.Arranged(value, axes));
    if (layers_.entry(layer).inputs.empty()) {
      CAIRN_ASSIGN_OR_RETURN(layer, layers_.Add("", "Identity", OnnxArguments(), {layer}));
    }
    return layer;
  }

  absl::StatusOr<ImportedModel> Finish() {
    keeps_layout_ =
        keeps_layout_ || model_.producer_name() == "Cairn" || model_.producer_name() == "tf2onnx";
    std::vector<int> outputs;
    if (graph_.output_size() == 0) return Error("the graph has no outputs");
    for (const auto& output : graph_.output()) {
      const auto layer = OutputLayer(output.name());
      if (!layer.ok()) {
        return Error(absl::StrCat("output '", output.name(), "': ", layer.status().message()));
      }
      outputs.push_back(*layer);
    }
    return layers_.Finish(outputs);
  }

  const onnx::ModelProto& model_;
  const onnx::GraphProto& graph_;
  OnnxBudget budget_;
  OnnxLayers layers_;
  int64_t opset_ = 0;
  int64_t file_batch_ = 0;
  // An input or the program that wrote the file has images with their channels last.
  bool keeps_layout_ = false;
  std::unordered_map<std::string, const onnx::TensorProto*> initializers_;
  std::unordered_map<std::string, const onnx::NodeProto*> producers_;
  // How often a value is used by what the outputs need.
  std::unordered_map<std::string, int> uses_;
  std::vector<bool> is_needed_;      // By node.
  std::map<int, Pattern> patterns_;  // By node that ends one.
  std::map<std::string, OnnxConstant> constants_;
  std::map<std::string, OnnxValue> values_;
};

}  // namespace

// A ModelProto begins with its version, a small number, and then another of its fields.
bool IsOnnxFile(std::string_view file) {
  constexpr unsigned char kVersionTag = 0x08;
  if (file.size() < 3 || static_cast<unsigned char>(file[0]) != kVersionTag) return false;
  const auto version = static_cast<unsigned char>(file[1]);
  const auto next = static_cast<unsigned char>(file[2]);
  static constexpr unsigned char kTags[] = {0x12, 0x1a, 0x22, 0x28, 0x32, 0x3a, 0x42, 0x72};
  return version >= 1 && version < 0x80 &&
         std::find(std::begin(kTags), std::end(kTags), next) != std::end(kTags);
}

absl::StatusOr<ImportedModel> ReadOnnxFile(std::string_view file, absl::Span<const std::string>) {
  onnx::ModelProto model;
  if (file.size() > std::numeric_limits<int>::max() ||
      !model.ParseFromArray(file.data(), static_cast<int>(file.size()))) {
    return Error("it looks like an ONNX file, but it is cut off, damaged or larger than 2 GiB");
  }
  return Reader(model, file.size()).Read();
}

}  // namespace cairn::nn
