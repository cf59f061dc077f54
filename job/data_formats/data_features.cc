#include "job/data_formats/data_features.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "job/data_formats/data_format.h"
#include "job/data_formats/images_format.h"
#include "job/data_formats/named_places.h"
#include "job/value_steps.h"
#include "nn/signature.h"

namespace cairn::job {
namespace {

// The most values of one feature.
constexpr int64_t kValuesMax = int64_t{1} << 28;

// The types of raw elements, as NumPy names them.
constexpr const char* kRawTypes[] = {"bool",  "uint8",  "int8",  "uint16",  "int16",  "uint32",
                                     "int32", "uint64", "int64", "float32", "float64"};

absl::Status CheckShape(const std::string& path, const proto::DataFeature& feature,
                        const FeatureKind& kind) {
  int64_t values = 1;
  for (const int64_t size : feature.shape()) {
    if (size < 1) return Invalid(path, ".shape: ", size, " is not a size of 1 or more");
    if (size > kValuesMax / values) {
      return Invalid(path, ".shape: more than ", kValuesMax, " values");
    }
    values *= size;
  }
  if (!feature.has_max_length()) {
    if (!feature.has_padding()) return absl::OkStatus();
    return Invalid(path, ".padding: has no meaning without \"max_length\"");
  }
  const int64_t length = feature.max_length();
  if (length < 1 || length > kValuesMax) {
    return Invalid(path, ".max_length: ", length, " is not from 1 to ", kValuesMax);
  }
  if (!feature.shape().empty()) {
    return Invalid(path, ".max_length: conflicts with \"shape\"; keep one of them");
  }
  // Lists of a column may have nulls.
  if (!feature.has_default_() || kind.is_column) return absl::OkStatus();
  return Invalid(path, ".default: conflicts with \"max_length\": a missing list is all padding");
}

absl::Status CheckDecoding(const std::string& path, const proto::DataFeature& feature) {
  const std::string& type = feature.dtype();
  if (!feature.has_decode()) {
    if (!feature.has_dtype() || type == "int64" || type == "float32") return absl::OkStatus();
    const bool is_raw = absl::c_linear_search(kRawTypes, type);
    return Invalid(path, ".dtype: \"", type, "\" is not one of int64, float32",
                   is_raw ? "; for the elements of a raw tensor set \"decode\": \"raw\"" : "");
  }
  const bool is_image = feature.decode() == "image";
  if (!is_image && feature.decode() != "raw" && feature.decode() != "tensor") {
    return Invalid(path, ".decode: \"", feature.decode(), "\" is not one of raw, tensor, image");
  }
  if (is_image && feature.has_dtype()) {
    return Invalid(path, ".dtype: conflicts with \"decode\": \"image\"; leave it out");
  }
  if (is_image && !feature.shape().empty()) {
    const auto form = ImageFormOf({feature.shape().begin(), feature.shape().end()});
    if (!form.ok()) return Invalid(path, ".shape: ", form.status().message());
  }
  if (!is_image && !absl::c_linear_search(kRawTypes, type)) {
    return Invalid(path, ".dtype: ",
                   feature.has_dtype() ? absl::StrCat("\"", type, "\" is not") : "is missing; say",
                   " one of ", absl::StrJoin(kRawTypes, ", "));
  }
  if (feature.has_max_length()) {
    return Invalid(path, ".max_length: conflicts with \"decode\"; set \"shape\"");
  }
  if (!HasNames(feature)) return absl::OkStatus();
  return Invalid(path, feature.vocabulary().empty() ? ".categorical" : ".vocabulary",
                 ": conflicts with \"decode\"; keep one of them");
}

// Keras's get_vocabulary() begins with the tokens of padding and of unknown tokens.
bool StartsAsInKeras(const google::protobuf::RepeatedPtrField<std::string>& tokens) {
  return tokens.size() >= 2 && tokens[0].empty() && tokens[1] == "[UNK]";
}

// A feature whose texts or whole numbers have no vocabulary.
absl::Status CheckHashed(const std::string& path, const proto::DataFeature& feature) {
  const char* const field = feature.has_categorical() && !feature.categorical() ? "categorical"
                            : feature.vocabulary_size() > 0                     ? "vocabulary"
                            : feature.has_unknown()                             ? "unknown"
                            : feature.has_decode()                              ? "decode"
                            : feature.has_dtype()                               ? "dtype"
                                                                                : nullptr;
  if (field != nullptr) return Invalid(path, ".", field, ": conflicts with \"hash\"; leave it out");
  return CheckHashing(path + ".hash", feature.hash(), /*masks_text=*/true);
}

absl::Status CheckVocabulary(const std::string& path, const proto::DataFeature& feature,
                             const FeatureKind& kind) {
  const bool has_names = HasNames(feature);
  if (feature.has_categorical() && !has_names && !feature.vocabulary().empty()) {
    return Invalid(path, ".vocabulary: is only for categorical ", kind.name,
                   "s; leave out \"categorical\": false");
  }
  std::set<std::string> names;
  for (const std::string& name : feature.vocabulary()) {
    if (names.insert(name).second) continue;
    return Invalid(path, ".vocabulary: \"", name, "\" appears twice; keep one of them");
  }
  const char* const field = feature.unknown()            ? "unknown"
                            : feature.one_hot()          ? "one_hot"
                            : feature.has_default_name() ? "default_name"
                                                         : nullptr;
  if (!has_names && field != nullptr) {
    return Invalid(path, ".", field,
                   ": has no meaning without \"vocabulary\" or \"categorical\": true");
  }
  if (has_names && feature.has_dtype()) {
    return Invalid(path, ".dtype: conflicts with \"vocabulary\", which is for bytes");
  }
  if (has_names && feature.has_default_()) {
    return Invalid(path, ".default: is a number, and the ", kind.name,
                   " has names; set \"default_name\"");
  }
  const bool fills_lists = feature.has_default_name() && !kind.is_column;
  if (feature.has_max_length() && (feature.one_hot() || fills_lists)) {
    return Invalid(path, feature.one_hot() ? ".one_hot" : ".default_name",
                   ": conflicts with \"max_length\"; keep one of them");
  }
  const bool is_listed = names.empty() || names.count(feature.default_name()) > 0;
  if (!feature.has_default_name() || is_listed || feature.unknown()) return absl::OkStatus();
  return Invalid(path, ".default_name: \"", feature.default_name(), "\" is not in the vocabulary");
}

absl::Status CheckText(const std::string& path, const proto::DataFeature& feature) {
  const char* const field = feature.has_categorical()       ? "categorical"
                            : feature.vocabulary_size() > 0 ? "vocabulary"
                            : feature.has_unknown()         ? "unknown"
                            : feature.has_one_hot()         ? "one_hot"
                            : feature.has_decode()          ? "decode"
                            : feature.has_dtype()           ? "dtype"
                            : feature.shape_size() > 0      ? "shape"
                            : feature.has_max_length()      ? "max_length"
                            : feature.has_default_()        ? "default"
                            : feature.has_hash()            ? "hash"
                                                            : nullptr;
  if (field != nullptr) {
    return Invalid(path, ".", field, ": conflicts with \"text_vectorization\"; leave it out");
  }
  return CheckTextVectorization(path + ".text_vectorization", feature.text_vectorization());
}

absl::Status CheckFeature(const std::string& path, const proto::DataFeature& feature,
                          const FeatureKind& kind) {
  if (feature.name().empty()) return Invalid(path, ".name: is missing; name a ", kind.name);
  if (feature.has_text_vectorization()) return CheckText(path, feature);
  if (feature.has_hash()) CAIRN_RETURN_IF_ERROR(CheckHashed(path, feature));
  CAIRN_RETURN_IF_ERROR(CheckShape(path, feature, kind));
  CAIRN_RETURN_IF_ERROR(CheckDecoding(path, feature));
  CAIRN_RETURN_IF_ERROR(CheckVocabulary(path, feature, kind));
  if (feature.has_default_() && !std::isfinite(feature.default_())) {
    return Invalid(path, ".default: ", feature.default_(), " is not a finite number");
  }
  if (!std::isfinite(feature.padding())) {
    return Invalid(path, ".padding: ", feature.padding(), " is not a finite number");
  }
  return absl::OkStatus();
}

// The features of an input that takes text: a layer of the model has the vocabulary.
absl::Status CheckTextFeatures(const std::string& path, const DataFeatures& features,
                               const std::string& input) {
  for (int i = 0; i < features.size(); ++i) {
    const proto::DataFeature& feature = features[i];
    if (feature.has_input() && feature.input() != input) continue;
    const char* const field = feature.has_categorical()          ? "categorical"
                              : feature.vocabulary_size() > 0    ? "vocabulary"
                              : feature.has_unknown()            ? "unknown"
                              : feature.has_one_hot()            ? "one_hot"
                              : feature.has_decode()             ? "decode"
                              : feature.has_dtype()              ? "dtype"
                              : feature.has_default_()           ? "default"
                              : feature.has_padding()            ? "padding"
                              : feature.has_text_vectorization() ? "text_vectorization"
                              : feature.has_hash()               ? "hash"
                                                                 : nullptr;
    if (field == nullptr) continue;
    return Invalid(path, ".features[", i, "].", field, ": the model's input \"", input,
                   "\" takes the texts themselves, which its StringLookup looks up; leave it out");
  }
  return absl::OkStatus();
}

// True if the training data have the same vocabulary for two features of one column.
bool HaveSameVocabulary(const proto::DataFeature& one, const proto::DataFeature& other) {
  if (one.has_text_vectorization() != other.has_text_vectorization()) return false;
  if (!one.has_text_vectorization()) {
    // The name that replaces missing ones is a part of the vocabulary.
    return one.has_default_name() == other.has_default_name() &&
           one.default_name() == other.default_name();
  }
  const auto key = [](proto::TextVectorization spec) {
    spec.clear_output_sequence_length();
    return spec.SerializeAsString();
  };
  return key(one.text_vectorization()) == key(other.text_vectorization());
}

// The plan has one vocabulary for each column.
absl::Status CheckPlannedVocabularies(const std::string& path, const DataFeatures& features,
                                      const DataFeatures& labels, const FeatureKind& kind) {
  std::map<std::string, std::pair<std::string, const proto::DataFeature*>> found;  // By column.
  for (const auto& [name, list] :
       {std::pair("features", &features), std::pair("labels", &labels)}) {
    for (int i = 0; i < list->size(); ++i) {
      const proto::DataFeature& feature = (*list)[i];
      if (!HasOpenVocabulary(feature)) continue;
      const std::string at = absl::StrCat(name, "[", i, "]");
      const auto& [first_at, first] = found.try_emplace(feature.name(), at, &feature).first->second;
      if (HaveSameVocabulary(*first, feature)) continue;
      return Invalid(
          path, ".", at,
          feature.has_text_vectorization() ? ".text_vectorization.vocabulary" : ".vocabulary",
          ": is missing; the vocabulary that the training data have for ", kind.name, " \"",
          feature.name(), "\" is that of ", first_at, "; list this one");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckDataFeatures(const std::string& path, const DataFeatures& features,
                               const DataFeatures& labels, const DataNeeds& needs,
                               const FeatureKind& kind) {
  if (needs.inputs && features.empty()) {
    return Invalid(path, ".features: is missing; name the ", kind.name, "s of the model's input");
  }
  if (needs.labels && labels.empty()) {
    return Invalid(path, ".labels: is missing; name the ", kind.name, " of the labels");
  }
  for (int i = 0; i < features.size(); ++i) {
    const std::string at = absl::StrCat(path, ".features[", i, "]");
    CAIRN_RETURN_IF_ERROR(CheckFeature(at, features[i], kind));
    if (features[i].has_output()) return Invalid(at, ".output: is only for labels");
  }
  for (int i = 0; i < labels.size(); ++i) {
    const std::string at = absl::StrCat(path, ".labels[", i, "]");
    CAIRN_RETURN_IF_ERROR(CheckFeature(at, labels[i], kind));
    if (labels[i].has_input()) return Invalid(at, ".input: is only for features");
    if (labels[i].has_text_vectorization()) {
      return Invalid(at, ".text_vectorization: is only for features");
    }
    if (labels[i].has_hash()) return Invalid(at, ".hash: is only for features");
    if (labels[i].unknown()) return Invalid(at, ".unknown: is only for features");
    if (labels[i].one_hot()) {
      return Invalid(at, ".one_hot: is only for features; for labels set it beside the format");
    }
  }
  return CheckPlannedVocabularies(path, features, labels, kind);
}

absl::Status CheckFeaturesFit(const std::string& path, const DataFeatures& features,
                              const DataFeatures& labels, const nn::Signature& model,
                              const FeatureKind& kind) {
  std::vector<NamedPlace> inputs;
  for (const auto& feature : features) inputs.push_back({feature.has_input(), feature.input()});
  CAIRN_RETURN_IF_ERROR(
      CheckNamedPlaces(path + ".features", kind.name, "input", NamesOf(model.inputs()), inputs));
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    if (model.lookup(static_cast<int>(i)) == nullptr) continue;
    CAIRN_RETURN_IF_ERROR(CheckTextFeatures(path, features, model.inputs()[i].name));
  }
  std::vector<NamedPlace> outputs;
  for (const auto& label : labels) outputs.push_back({label.has_output(), label.output()});
  return CheckNamedPlaces(path + ".labels", kind.is_column ? kind.name : "label", "output",
                          NamesOf(model.outputs()), outputs);
}

bool HasNames(const proto::DataFeature& feature) {
  if (feature.has_hash()) return true;
  return feature.has_categorical() ? feature.categorical() : !feature.vocabulary().empty();
}

bool HasOpenVocabulary(const proto::DataFeature& feature) {
  if (feature.has_text_vectorization()) return feature.text_vectorization().vocabulary().empty();
  return HasNames(feature) && !feature.has_hash() && feature.vocabulary().empty();
}

std::vector<OpenColumn> OpenFeatures(const DataFeatures& features, const DataFeatures& labels,
                                     const FeatureKind& kind) {
  std::vector<OpenColumn> open;
  for (const DataFeatures* list : {&features, &labels}) {
    for (const proto::DataFeature& feature : *list) {
      if (!HasOpenVocabulary(feature)) continue;
      OpenColumn& added = open.emplace_back();
      added.name = feature.name();
      added.what = kind.name;
      if (feature.has_text_vectorization()) {
        added.kind = OpenColumn::Kind::kTokens;
        added.most = VocabularyMost(feature.text_vectorization());
        added.hint = "set \"max_tokens\"";
      } else {
        if (feature.has_default_name()) added.name_of_missing = feature.default_name();
        added.hint = kind.is_column ? "is the column one of numbers, or of free text?"
                                    : "is the feature one of free text?";
      }
    }
  }
  return open;
}

std::vector<std::string> VocabularyOf(const proto::DataFeature& feature,
                                      const proto::DataPlan& plan) {
  // A vocabulary of the plan may be that of another feature of the column.
  const bool is_listed =
      !feature.vocabulary().empty() || !feature.text_vectorization().vocabulary().empty();
  for (const auto& vocabulary : plan.vocabularies()) {
    if (!is_listed && vocabulary.column() == feature.name()) {
      return {vocabulary.names().begin(), vocabulary.names().end()};
    }
  }
  if (!feature.has_text_vectorization()) {
    return {feature.vocabulary().begin(), feature.vocabulary().end()};
  }
  const auto& tokens = feature.text_vectorization().vocabulary();
  return {tokens.begin() + (StartsAsInKeras(tokens) ? 2 : 0), tokens.end()};
}

absl::Status CheckTextVectorization(const std::string& path, const proto::TextVectorization& spec) {
  constexpr const char* kStandardize[] = {"lower_and_strip_punctuation", "lower",
                                          "strip_punctuation", "none"};
  constexpr const char* kSplit[] = {"whitespace", "character", "none"};
  if (spec.has_standardize() && !absl::c_linear_search(kStandardize, spec.standardize())) {
    return Invalid(path, ".standardize: \"", spec.standardize(), "\" is not one of ",
                   absl::StrJoin(kStandardize, ", "));
  }
  if (spec.has_split() && !absl::c_linear_search(kSplit, spec.split())) {
    return Invalid(path, ".split: \"", spec.split(), "\" is not one of ",
                   absl::StrJoin(kSplit, ", "));
  }
  if (spec.has_max_tokens() && (spec.max_tokens() < 3 || spec.max_tokens() > kValuesMax)) {
    return Invalid(path, ".max_tokens: ", spec.max_tokens(), " is not from 3 to ", kValuesMax,
                   "; padding and unknown tokens count too");
  }
  const int64_t length = spec.output_sequence_length();
  if (spec.has_output_sequence_length() && (length < 1 || length > kValuesMax)) {
    return Invalid(path, ".output_sequence_length: ", length, " is not from 1 to ", kValuesMax);
  }
  const int first = StartsAsInKeras(spec.vocabulary()) ? 2 : 0;
  std::set<std::string> tokens;
  for (int i = first; i < spec.vocabulary_size(); ++i) {
    const std::string& token = spec.vocabulary(i);
    if (token.empty()) return Invalid(path, ".vocabulary: \"\" is not a token");
    if (tokens.insert(token).second) continue;
    return Invalid(path, ".vocabulary: \"", token, "\" appears twice; keep one of them");
  }
  if (static_cast<int64_t>(tokens.size()) <= VocabularyMost(spec)) return absl::OkStatus();
  return Invalid(path, ".max_tokens: ", spec.max_tokens(), " are fewer than the ", tokens.size(),
                 " tokens of \"vocabulary\" with those of padding and of unknown tokens");
}

int64_t VocabularyMost(const proto::TextVectorization& spec) {
  return spec.has_max_tokens() ? spec.max_tokens() - 2 : kValuesMax;
}

}  // namespace cairn::job
