#include "nn/formats/onnx_layers.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "nn/layers/create_layer.h"
#include "nn/layers/layer_output.h"

namespace cairn::nn {
namespace {

using google::protobuf::Value;

constexpr size_t kLayersMax = 100'000;

std::string FallbackName(const std::string& class_name) {
  std::string name;
  for (size_t i = 0; i < class_name.size(); ++i) {
    if (i > 0 && absl::ascii_isupper(class_name[i]) && absl::ascii_islower(class_name[i - 1])) {
      name += '_';
    }
    name += absl::ascii_tolower(class_name[i]);
  }
  return name;
}

// Whether the output of a layer has no negative elements, given that of its inputs.
bool IsNonnegative(const OnnxLayers::Entry& entry, bool inputs_are) {
  static const auto* const kKeep = new std::set<std::string>{
      "Add",     "AveragePooling1D", "AveragePooling2D", "AveragePooling3D", "Concatenate",
      "Dropout", "Flatten",          "MaxPooling1D",     "MaxPooling2D",     "MaxPooling3D",
      "Maximum", "Multiply",         "Permute",          "Reshape",          "UpSampling2D",
      "Average", "ZeroPadding1D",    "ZeroPadding2D",    "ZeroPadding3D"};
  static const auto* const kActivations = new std::set<std::string>{
      "exponential", "hard_sigmoid", "hard_sigmoid_keras2", "relu",       "relu6", "sigmoid",
      "softmax",     "softplus",     "sparse_sigmoid",      "sparse_plus"};
  const std::string& name = entry.spec.class_name();
  if (name == "ReLU") return entry.spec.config().fields().count("negative_slope") == 0;
  if (name == "Softmax") return true;
  if (kKeep->count(name) > 0) return inputs_are;
  const auto activation = entry.spec.config().fields().find("activation");
  return activation != entry.spec.config().fields().end() &&
         kActivations->count(activation->second.string_value()) > 0;
}

// The order of a flattened axis: for each element in the order of `to`, its place in the order of
// `from`. Both name the same factors.
std::vector<int64_t> OrderOf(const OnnxValue& value, const std::vector<int>& from,
                             const std::vector<int>& to) {
  std::map<int, int64_t> strides;
  int64_t stride = 1;
  for (size_t i = from.size(); i-- > 0; stride *= value.FactorSize(from[i])) {
    strides[from[i]] = stride;
  }
  std::vector<int64_t> order(stride, 0);
  std::vector<int64_t> index(to.size(), 0);
  int64_t at = 0;
  for (int64_t& place : order) {
    place = at;
    for (size_t i = to.size(); i-- > 0;) {
      at += strides[to[i]];
      if (++index[i] < value.FactorSize(to[i])) break;
      at -= strides[to[i]] * index[i];
      index[i] = 0;
    }
  }
  return order;
}

}  // namespace

OnnxArguments& OnnxArguments::Set(const char* name, Value value) {
  (*fields_.mutable_fields())[name] = std::move(value);
  return *this;
}

OnnxArguments& OnnxArguments::Number(const char* name, double value) {
  (*fields_.mutable_fields())[name].set_number_value(value);
  return *this;
}

OnnxArguments& OnnxArguments::Flag(const char* name, bool value) {
  (*fields_.mutable_fields())[name].set_bool_value(value);
  return *this;
}

OnnxArguments& OnnxArguments::Text(const char* name, const std::string& value) {
  (*fields_.mutable_fields())[name].set_string_value(value);
  return *this;
}

OnnxArguments& OnnxArguments::Texts(const char* name, const std::vector<std::string>& values) {
  auto& list = *(*fields_.mutable_fields())[name].mutable_list_value();
  list.Clear();
  for (const std::string& value : values) list.add_values()->set_string_value(value);
  return *this;
}

OnnxArguments& OnnxArguments::Numbers(const char* name, const std::vector<int64_t>& values) {
  return Numbers(name, std::vector<double>(values.begin(), values.end()));
}

OnnxArguments& OnnxArguments::Numbers(const char* name, const std::vector<double>& values) {
  auto& list = *(*fields_.mutable_fields())[name].mutable_list_value();
  list.Clear();
  for (const double value : values) list.add_values()->set_number_value(value);
  return *this;
}

OnnxArguments& OnnxArguments::Pairs(const char* name,
                                    const std::vector<std::vector<int64_t>>& values) {
  auto& list = *(*fields_.mutable_fields())[name].mutable_list_value();
  list.Clear();
  for (const auto& pair : values) {
    auto& inner = *list.add_values()->mutable_list_value();
    for (const int64_t value : pair)
      inner.add_values()->set_number_value(static_cast<double>(value));
  }
  return *this;
}

bool OnnxLayers::IsInteger(int layer) const {
  const Entry& entry = entries_[layer];
  return entry.layer->output().type != proto::FLOAT32 || entry.spec.class_name() == "StringLookup";
}

std::string OnnxLayers::Unique(const std::string& name, const std::string& class_name) {
  const std::string base = name.empty() ? FallbackName(class_name) : name;
  std::string unique = base;
  for (int i = 1; !names_.insert(unique).second; ++i) unique = absl::StrCat(base, "_", i);
  return unique;
}

bool OnnxLayers::AreNonnegative(const std::vector<int>& layers) const {
  return std::all_of(layers.begin(), layers.end(),
                     [this](int layer) { return entries_[layer].is_nonnegative; });
}

absl::Status OnnxLayers::CheckWeights(const Entry& entry) {
  const auto& variables = entry.layer->variables();
  if (variables.size() != entry.weights.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", entry.weights.size(), " weights, not ", variables.size()));
  }
  for (size_t i = 0; i < variables.size(); ++i) {
    const OnnxWeight& weight = entry.weights[i];
    const auto elements = CheckedElementCount(variables[i].spec.shape);
    if (elements.ok() && *elements == static_cast<int64_t>(weight.values.size())) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("weight '", weight.source, "' has ", weight.values.size(),
                     " elements, which do not fill the shape ", ShapeText(variables[i].spec.shape),
                     " of ", variables[i].spec.name));
  }
  return absl::OkStatus();
}

absl::StatusOr<int> OnnxLayers::Add(const std::string& name, const std::string& class_name,
                                    const OnnxArguments& arguments, const std::vector<int>& inputs,
                                    std::vector<OnnxWeight> weights) {
  if (entries_.size() >= kLayersMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model has more than ", kLayersMax, " layers"));
  }
  Entry entry;
  entry.inputs = inputs;
  entry.weights = std::move(weights);
  entry.spec.set_name(Unique(name, class_name));
  entry.spec.set_class_name(class_name);
  *entry.spec.mutable_config() = arguments.fields();
  std::vector<TensorSpec> specs;
  for (const int input : inputs) {
    specs.push_back(entries_[input].layer->output());
    entry.spec.add_inputs(entries_[input].spec.name());
  }
  if (class_name == kLayerOutput) {
    CAIRN_ASSIGN_OR_RETURN(entry.layer,
                           LayerOutputLayer::Create(entry.spec, *entries_[inputs.at(0)].layer));
  } else {
    CAIRN_ASSIGN_OR_RETURN(entry.layer, CreateLayer(entry.spec, std::move(specs)));
  }
  CAIRN_RETURN_IF_ERROR(CheckedElementCount(entry.layer->output().shape).status());
  CAIRN_RETURN_IF_ERROR(CheckWeights(entry));
  entry.is_nonnegative = IsNonnegative(entry, AreNonnegative(inputs));
  entries_.push_back(std::move(entry));
  return static_cast<int>(entries_.size()) - 1;
}

int OnnxLayers::WithoutCast(int layer) const {
  const Entry& entry = entries_[layer];
  const auto& fields = entry.spec.config().fields();
  const auto scale = fields.find("scale");
  const bool is_cast = entry.spec.class_name() == "Rescaling" && IsInteger(entry.inputs[0]) &&
                       fields.size() == 1 && scale != fields.end() &&
                       scale->second.number_value() == 1;
  return is_cast ? entry.inputs[0] : layer;
}

absl::Status OnnxLayers::Change(int layer, const OnnxArguments& more,
                                std::vector<OnnxWeight> more_weights) {
  Entry& entry = entries_[layer];
  for (const auto& [name, value] : more.fields().fields()) {
    (*entry.spec.mutable_config()->mutable_fields())[name] = value;
    // Numbers for each channel may be many.
    CAIRN_RETURN_IF_ERROR(budget_->Spend(value.list_value().values_size()));
  }
  for (OnnxWeight& weight : more_weights) entry.weights.push_back(std::move(weight));
  CAIRN_ASSIGN_OR_RETURN(entry.layer, CreateLayer(entry.spec, entry.layer->inputs()));
  entry.is_nonnegative = IsNonnegative(entry, AreNonnegative(entry.inputs));
  return CheckWeights(entry);
}

absl::StatusOr<int> OnnxLayers::Arranged(const OnnxValue& value,
                                         const std::vector<std::vector<int>>& axes) {
  if (value.reversed >= 0) {
    return absl::InvalidArgumentError(
        "takes a sequence in the opposite order, which only the two directions of a bidirectional "
        "layer without used states may be");
  }
  std::vector<int> order;
  Shape result;
  for (const auto& axis : axes) {
    result.push_back(1);
    for (const int factor : axis) {
      if (factor == 0) {
        return absl::InvalidArgumentError("needs the batch as an axis of its own");
      }
      result.back() *= value.FactorSize(factor);
      if (value.FactorSize(factor) > 1) order.push_back(factor);
    }
  }
  const bool in_order = std::is_sorted(order.begin(), order.end());
  int layer = value.layer;
  if (!in_order) {
    Shape base;
    std::vector<int> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    for (const int factor : sorted) base.push_back(value.FactorSize(factor));
    if (base != shape(layer)) {
      CAIRN_ASSIGN_OR_RETURN(
          layer, Add("", "Reshape", OnnxArguments().Numbers("target_shape", base), {layer}));
    }
    std::vector<int64_t> places;
    for (const int factor : order) {
      places.push_back(std::lower_bound(sorted.begin(), sorted.end(), factor) - sorted.begin() + 1);
    }
    CAIRN_ASSIGN_OR_RETURN(layer,
                           Add("", "Permute", OnnxArguments().Numbers("dims", places), {layer}));
  }
  if (shape(layer) == result) return layer;
  if (result.size() == 1) return Add("", "Flatten", OnnxArguments(), {layer});
  return Add("", "Reshape", OnnxArguments().Numbers("target_shape", result), {layer});
}

absl::StatusOr<OnnxLayers::Rows> OnnxLayers::WithLastAxis(const OnnxValue& value,
                                                          const std::vector<int>& factors) {
  std::vector<int> last;
  std::vector<int> others;
  for (const int factor : factors) {
    if (factor == 0) return absl::InvalidArgumentError("works on the axis of the batch");
    if (value.FactorSize(factor) > 1) last.push_back(factor);
  }
  for (int factor = 1; factor <= static_cast<int>(value.sizes.size()); ++factor) {
    const bool is_last = std::find(last.begin(), last.end(), factor) != last.end();
    if (!is_last && value.FactorSize(factor) > 1) others.push_back(factor);
  }
  Rows rows{.value = value};
  for (const int factor : last) rows.width *= value.FactorSize(factor);
  std::vector<int> sorted = last;
  std::sort(sorted.begin(), sorted.end());
  const bool is_trailing = last.empty() || others.empty() || others.back() < sorted[0];
  if (is_trailing && value.reversed < 0) {
    rows.factors = sorted;
    if (sorted != last) {
      CAIRN_RETURN_IF_ERROR(budget_->Spend(rows.width));
      rows.order = OrderOf(value, last, sorted);
    }
    const Shape& now = shape(value.layer);
    if (!now.empty() && now.back() == rows.width) return rows;
  }
  // One axis for each other factor, then this one.
  std::vector<std::vector<int>> axes;
  for (const int factor : others) axes.push_back({factor});
  axes.push_back(is_trailing ? sorted : last);
  CAIRN_ASSIGN_OR_RETURN(rows.value.layer, Arranged(value, axes));
  rows.value.is_exclusive = value.is_exclusive;
  if (is_trailing) return rows;
  // The factors have another order now; those of size 1 may stand anywhere.
  std::vector<int> place(value.sizes.size() + 1, 0);
  rows.value.sizes.clear();
  std::vector<int> order = others;
  order.insert(order.end(), last.begin(), last.end());
  for (const int factor : order) {
    rows.value.sizes.push_back(value.FactorSize(factor));
    place[factor] = static_cast<int>(rows.value.sizes.size());
  }
  for (auto& group : rows.value.axes) {
    std::vector<int> moved;
    for (const int factor : group) {
      if (factor == 0 || place[factor] > 0) moved.push_back(factor == 0 ? 0 : place[factor]);
    }
    group = std::move(moved);
  }
  for (const int factor : last) rows.factors.push_back(place[factor]);
  return rows;
}

// Two layers of the same weights and arguments are two calls of one layer in Keras: trained, they
// stay equal. A BatchNormalization cannot be called twice in training.
void OnnxLayers::ShareEqualLayers(std::vector<bool>* is_used) {
  std::map<std::string, std::vector<int>> owners;
  for (size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    if (!(*is_used)[i] || entry.weights.empty() ||
        entry.spec.class_name() == "BatchNormalization") {
      continue;
    }
    std::vector<std::string> sources;
    for (const OnnxWeight& weight : entry.weights) sources.push_back(weight.source);
    if (std::count(sources.begin(), sources.end(), "") > 0) continue;
    std::vector<int>& same =
        owners[absl::StrCat(entry.spec.class_name(), "\n", absl::StrJoin(sources, "\n"))];
    for (const int owner : same) {
      const Entry& other = entries_[owner];
      const bool is_equal =
          std::equal(entry.weights.begin(), entry.weights.end(), other.weights.begin(),
                     [](const OnnxWeight& a, const OnnxWeight& b) { return a.values == b.values; });
      if (is_equal && google::protobuf::util::MessageDifferencer::Equals(entry.spec.config(),
                                                                         other.spec.config())) {
        entry.spec.set_shares(other.spec.name());
        break;
      }
    }
    if (entry.spec.shares().empty()) same.push_back(static_cast<int>(i));
  }
}

absl::StatusOr<ImportedModel> OnnxLayers::Finish(const std::vector<int>& outputs) {
  std::vector<bool> is_used(entries_.size(), false);
  for (const int output : outputs) is_used[output] = true;
  for (size_t i = entries_.size(); i-- > 0;) {
    if (entries_[i].inputs.empty()) is_used[i] = true;
    for (const int input : entries_[i].inputs) is_used[input] = is_used[input] || is_used[i];
  }
  ShareEqualLayers(&is_used);
  ImportedModel model;
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (!is_used[i]) continue;
    Entry& entry = entries_[i];
    *model.spec.add_layers() = entry.spec;
    if (entry.inputs.empty()) model.spec.add_inputs(entry.spec.name());
    if (!entry.spec.shares().empty()) continue;
    for (size_t k = 0; k < entry.weights.size(); ++k) {
      const VariableSpec& variable = entry.layer->variables()[k].spec;
      model.weights.push_back({variable.name, variable.shape, std::move(entry.weights[k].values)});
    }
  }
  for (const int output : outputs) model.spec.add_outputs(entries_[output].spec.name());
  return model;
}

std::string OnnxLayerName(std::string_view initializer, std::string_view node,
                          std::string_view op) {
  static const auto* const kWeights =
      new std::set<std::string>{"kernel",           "weight",     "bias", "gamma", "scale",
                                "depthwise_kernel", "embeddings", "beta", "alpha", "weights"};
  std::string name;
  absl::string_view from = {initializer.data(), initializer.size()};
  from = from.substr(0, from.find(':'));
  const size_t end = from.find_last_of("./");
  if (end != absl::string_view::npos && end > 0 &&
      kWeights->count(std::string(from.substr(end + 1))) > 0) {
    name = std::string(from.substr(0, end));
  } else {
    // "/features/conv1/Conv_2": the place of the operator in the program.
    from = {node.data(), node.size()};
    const size_t slash = from.rfind('/');
    const bool is_place = slash != absl::string_view::npos && slash > 0 &&
                          absl::StartsWith(from.substr(slash + 1), {op.data(), op.size()});
    if (is_place) name = std::string(from.substr(0, slash));
  }
  while (!name.empty() && (name[0] == '/' || name[0] == '.')) name.erase(0, 1);
  for (char& c : name) {
    const bool is_good = absl::ascii_isalnum(c) || c == '_' || c == '-' || c == '.';
    if (!is_good) c = c == '/' ? '.' : '_';
  }
  return name;
}

}  // namespace cairn::nn
