#include "nn/formats/onnx_encoding.h"

#include <cmath>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace cairn::nn {
namespace {

absl::Status Error(const std::string& reason) { return absl::InvalidArgumentError(reason); }

OnnxOutputs One(OnnxValue value) { return std::vector<OnnxValue>{std::move(value)}; }

// Whether the node reduces axis -2, given as an input or as an attribute, and drops it.
bool ReducesAxisBeforeLast(const onnx::NodeProto& node, const OnnxNames& names) {
  bool drops = false;
  std::optional<double> axis;
  if (node.input_size() > 1) axis = names.scalar(node.input(1));
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == "keepdims") drops = attribute.i() == 0;
    if (attribute.name() == "axes" && attribute.ints_size() == 1) {
      axis = static_cast<double>(attribute.ints(0));
    }
  }
  return drops && axis == -2;
}

// A StringLookup that computes what a LabelEncoder from texts to numbers does: its vocabulary is in
// the order of the indices, which are 0, 1, ... or, if other texts have index 0, 1, 2, ...
absl::StatusOr<OnnxArguments> LookupArguments(const OnnxNode& lookup) {
  const std::vector<std::string> keys = lookup.Texts("keys_strings");
  std::vector<double> indices;
  for (const float index : lookup.Floats("values_floats")) indices.push_back(index);
  const bool has_floats = !indices.empty();
  if (!has_floats) {
    for (const int64_t index : lookup.Ints("values_int64s").value_or(std::vector<int64_t>())) {
      indices.push_back(static_cast<double>(index));
    }
  }
  lookup.Ignore({"default_float", "default_int64"});
  CAIRN_RETURN_IF_ERROR(lookup.CheckAllRead());
  if (keys.empty() || keys.size() != indices.size()) {
    return Error("maps no texts to numbers (keys_strings, and values_floats or values_int64s)");
  }
  const double other = has_floats ? lookup.Float("default_float", 0)
                                  : static_cast<double>(lookup.Int("default_int64", -1));
  const bool takes_unknown = other == 0;
  if (!takes_unknown && other != -1 && !std::isnan(other)) {
    return Error(absl::StrCat("gives other texts the index ", other, "; a StringLookup has 0"));
  }
  std::vector<std::string> vocabulary(keys.size());
  std::set<double> seen;
  for (size_t i = 0; i < keys.size(); ++i) {
    const double place = indices[i] - (takes_unknown ? 1 : 0);
    const bool is_place = place >= 0 && place < static_cast<double>(keys.size()) &&
                          place == std::floor(place) && seen.insert(place).second;
    if (!is_place) {
      return Error(absl::StrCat("has the index ", indices[i], " for the text \"", keys[i],
                                "\"; a StringLookup has the indices ", takes_unknown ? 1 : 0,
                                " to ", keys.size() - (takes_unknown ? 0 : 1), ", each once"));
    }
    vocabulary[static_cast<size_t>(place)] = keys[i];
  }
  OnnxArguments arguments;
  arguments.Texts("vocabulary", vocabulary).Number("num_oov_indices", takes_unknown ? 1 : 0);
  // Keras takes a vocabulary that begins with the token of other texts as one with this token.
  if (vocabulary[0] == "[UNK]") arguments.Text("oov_token", "");
  return arguments;
}

}  // namespace

std::optional<OnnxEncoding> FindOnnxEncoding(const onnx::NodeProto& node, const OnnxNames& names) {
  OnnxEncoding found;
  const bool counts = node.op_type() == "ReduceSum";
  found.mode = counts ? "count" : node.op_type() == "ReduceMax" ? "multi_hot" : "one_hot";
  const onnx::NodeProto* vectors = &node;
  if (counts || node.op_type() == "ReduceMax") {
    if (node.input_size() == 0 || !ReducesAxisBeforeLast(node, names)) return std::nullopt;
    vectors = names.producer(node.input(0));
    if (vectors == nullptr) return std::nullopt;
  }
  OnnxMatch match;
  for (const char* table : {"t", "T"}) {
    match = OnnxMatch();
    const std::string pattern = absl::StrCat("Add(Cast(Equal(Unsqueeze(x, A), ", table,
                                             ")), Sub(Unsqueeze(x, A), Unsqueeze(x, A)))");
    if (MatchesOnnx(pattern, *vectors, names, &match)) break;
  }
  if (match.values.count('x') == 0 || match.numbers['A'] != -1 || match.numbers['T'] != 0) {
    return std::nullopt;
  }
  const onnx::NodeProto* const index = names.producer(match.values['x']);
  if (index == nullptr || index->input_size() != 1) return std::nullopt;
  if (index->op_type() == "LabelEncoder") {
    found.lookup = index;
  } else if (index->op_type() != "Floor") {
    return std::nullopt;
  }
  found.x = index->input(0);
  found.table = match.values['t'];
  return found;
}

OnnxOutputs ReadOnnxLabelEncoder(const OnnxCall& call) {
  CAIRN_ASSIGN_OR_RETURN(OnnxValue value, call.Value());
  CAIRN_ASSIGN_OR_RETURN(const OnnxArguments arguments, LookupArguments(call.node));
  if (value.reversed >= 0) return Error("takes a sequence in the opposite order");
  CAIRN_ASSIGN_OR_RETURN(value.layer,
                         call.layers->Add("", "StringLookup", arguments, {value.layer}));
  value.is_exclusive = true;
  return One(std::move(value));
}

OnnxOutputs ReadOnnxPartOfEncoding(const OnnxCall&) {
  return Error(
      "is only read as a part of an encoding of categories, as Cairn writes CategoryEncoding and "
      "StringLookup; masks are not read");
}

OnnxOutputs ReadOnnxEncoding(const OnnxCall& call, const OnnxEncoding& encoding) {
  CAIRN_ASSIGN_OR_RETURN(const OnnxValue value, call.Value());
  if (!value.IsBatch(0)) return Error("encodes categories without the batch as the first axis");
  int64_t tokens = 1;
  if (!encoding.table.empty()) {
    CAIRN_ASSIGN_OR_RETURN(const OnnxWeight table, call.Weight(1));
    tokens = static_cast<int64_t>(table.values.size());
    for (size_t i = 0; i < table.values.size(); ++i) {
      if (table.values[i] != static_cast<float>(i)) {
        return Error("encodes categories other than 0, 1, 2, ...");
      }
    }
  }
  const std::vector<std::vector<int>> axes(value.axes.begin() + 1, value.axes.end());
  CAIRN_ASSIGN_OR_RETURN(const int arranged, call.layers->Arranged(value, axes));
  OnnxArguments arguments;
  if (encoding.lookup != nullptr) {
    CAIRN_ASSIGN_OR_RETURN(arguments,
                           LookupArguments(OnnxNode(encoding.lookup, call.node.opset())));
  } else {
    arguments.Number("num_tokens", static_cast<double>(tokens));
  }
  arguments.Text("output_mode", encoding.mode);
  const char* const name = encoding.lookup != nullptr ? "StringLookup" : "CategoryEncoding";
  CAIRN_ASSIGN_OR_RETURN(
      const int layer, call.layers->Add("", name, arguments, {call.layers->WithoutCast(arranged)}));
  if (call.layers->shape(layer).back() != tokens) {
    return Error(
        absl::StrCat("encodes ", tokens, " categories of ", call.layers->shape(layer).back()));
  }
  Shape shape = call.layers->shape(layer);
  // ONNX keeps an axis of one category.
  if (std::string_view(encoding.mode) == "one_hot") {
    shape = call.layers->shape(arranged);
    shape.push_back(tokens);
  }
  return One(WholeValue(layer, shape));
}

}  // namespace cairn::nn
