#include "nn/layers/string_lookup.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace cairn::nn {
namespace {

// Indices are floats behind the layer, which are exact up to this one.
constexpr int kTermsMax = 1 << 24;

std::vector<std::string> ReadVocabulary(LayerConfig& config) {
  if (!config.Has("vocabulary")) {
    config.FailArgument("vocabulary",
                        "is missing: give it, or call adapt() and then set it from "
                        "get_vocabulary(include_special_tokens=False)");
    return {};
  }
  const google::protobuf::Value& given = config.spec().config().fields().at("vocabulary");
  std::vector<std::string> vocabulary;
  std::set<std::string> terms;
  for (const google::protobuf::Value& term : given.list_value().values()) {
    if (term.kind_case() != google::protobuf::Value::kStringValue) {
      config.FailArgument("vocabulary", "has an entry that is no text");
      return {};
    }
    vocabulary.push_back(term.string_value());
    if (terms.insert(term.string_value()).second) continue;
    config.FailArgument("vocabulary",
                        absl::StrCat("has the term \"", term.string_value(), "\" twice"));
    return {};
  }
  if (vocabulary.empty()) config.FailArgument("vocabulary", "is not a list of texts");
  if (vocabulary.size() > kTermsMax) {
    config.FailArgument("vocabulary", absl::StrCat("has more than ", kTermsMax, " terms"));
  }
  return vocabulary;
}

}  // namespace

absl::StatusOr<std::unique_ptr<const Layer>> StringLookupLayer::Create(LayerConfig& config) {
  const std::vector<std::string> unread = {"mask_token", "idf_weights", "salt"};
  for (const std::string& argument : unread) {
    if (config.Has(argument)) config.FailArgument(argument, "is not supported");
  }
  for (const char* argument : {"invert", "sparse", "pad_to_max_tokens"}) {
    if (config.Bool(argument, false)) config.FailArgument(argument, "is not supported");
  }
  // Limits of adapt(), what Keras derives, and the token that no text has in the vocabulary.
  config.Ignore({"max_tokens", "vocabulary_size", "vocabulary_dtype", "oov_method", "oov_token"});
  config.Choice("encoding", {"utf-8"});
  const bool takes_unknown = config.Int("num_oov_indices", 1, 0, 1) == 1;
  const std::string word = config.Choice("output_mode", {"int", "one_hot", "multi_hot", "count"});
  std::vector<std::string> vocabulary = ReadVocabulary(config);
  // As get_vocabulary() returns it.
  const auto token = config.spec().config().fields().find("oov_token");
  const std::string unknown =
      token == config.spec().config().fields().end() ? "[UNK]" : token->second.string_value();
  if (takes_unknown && !vocabulary.empty() && vocabulary[0] == unknown) {
    vocabulary.erase(vocabulary.begin());
  }
  TensorSpec output{.shape = config.AnyInput().shape};
  int64_t group = 1;
  const bool encodes = word != "int";
  if (encodes && !output.shape.empty() && (word != "one_hot" || output.shape.back() == 1)) {
    group = output.shape.back();
    output.shape.pop_back();
  }
  if (encodes) output.shape.push_back(static_cast<int64_t>(vocabulary.size()) + takes_unknown);
  CAIRN_RETURN_IF_ERROR(config.Finish());
  const Mode mode = word == "int"         ? Mode::kInt
                    : word == "one_hot"   ? Mode::kOneHot
                    : word == "multi_hot" ? Mode::kMultiHot
                                          : Mode::kCount;
  return std::unique_ptr<const Layer>(new StringLookupLayer(
      config.base(), std::move(output), std::move(vocabulary), takes_unknown, mode, group));
}

}  // namespace cairn::nn
