#include "nn/layers/preparation.h"

#include "common/status_macros.h"

namespace cairn::nn {
namespace {

// Ids are floats behind the layers, which are exact up to this one.
constexpr int64_t kIdsMax = int64_t{1} << 24;
// Numbers in configurations are doubles, which are exact up to this one.
constexpr int64_t kNumberMax = int64_t{1} << 53;

}  // namespace

absl::StatusOr<std::unique_ptr<const Layer>> IntegerLookupLayer::Create(LayerConfig& config) {
  const bool takes_unknown = config.Int("num_oov_indices", 1, 0, 1) == 1;
  std::vector<int64_t> vocabulary =
      config.Ints("vocabulary", -kNumberMax, kNumberMax).value_or(std::vector<int64_t>());
  if (vocabulary.empty()) config.FailArgument("vocabulary", "is not a list of whole numbers");
  TensorSpec output{.shape = config.AnyInput().shape};
  CAIRN_RETURN_IF_ERROR(config.Finish());
  return std::unique_ptr<const Layer>(new IntegerLookupLayer(config.base(), std::move(output),
                                                             std::move(vocabulary), takes_unknown));
}

absl::StatusOr<std::unique_ptr<const Layer>> HashingLayer::Create(LayerConfig& config) {
  const int64_t bins = config.Int("num_bins", std::nullopt, 1, kIdsMax);
  std::vector<int64_t> salt = config.Ints("salt", 0, kNumberMax).value_or(std::vector<int64_t>());
  if (!salt.empty() && salt.size() != 2)
    config.FailArgument("salt", "is not a list of two numbers");
  std::optional<int64_t> mask_number;
  std::optional<std::string> mask_text;
  if (config.Has("mask_value")) {
    const google::protobuf::Value& mask = config.spec().config().fields().at("mask_value");
    if (mask.kind_case() == google::protobuf::Value::kStringValue) {
      mask_text = mask.string_value();
    } else {
      mask_number = config.Int("mask_value", std::nullopt, -kNumberMax, kNumberMax);
    }
  }
  TensorSpec output{.shape = config.AnyInput().shape};
  CAIRN_RETURN_IF_ERROR(config.Finish());
  std::unique_ptr<HashingLayer> layer(new HashingLayer(config.base(), std::move(output)));
  layer->bins_ = bins;
  layer->salt_ = std::move(salt);
  layer->mask_number_ = mask_number;
  layer->mask_text_ = std::move(mask_text);
  return std::unique_ptr<const Layer>(std::move(layer));
}

absl::StatusOr<std::unique_ptr<const Layer>> TextVectorizationLayer::Create(LayerConfig& config) {
  config.Ignore({"ngrams"});
  // Null stands for none.
  const std::string standardize = config.Has("standardize")
                                      ? config.Choice("standardize", {"lower_and_strip_punctuation",
                                                                      "lower", "strip_punctuation"})
                                      : "";
  const std::string split =
      config.Has("split") ? config.Choice("split", {"whitespace", "character"}) : "";
  TensorSpec output{.shape = {config.Int("output_sequence_length", std::nullopt, 1)}};
  std::vector<std::string> vocabulary;
  if (config.Has("vocabulary")) {
    const auto& terms = config.spec().config().fields().at("vocabulary").list_value().values();
    for (const google::protobuf::Value& term : terms) vocabulary.push_back(term.string_value());
  }
  if (vocabulary.empty()) config.FailArgument("vocabulary", "has no tokens");
  if (config.AnyInput().shape != Shape{1}) config.Fail("needs an input of one text");
  CAIRN_RETURN_IF_ERROR(config.Finish());
  std::unique_ptr<TextVectorizationLayer> layer(
      new TextVectorizationLayer(config.base(), std::move(output)));
  layer->lowers_ = standardize.compare(0, 5, "lower") == 0;
  layer->strips_ = standardize.find("strip_punctuation") != std::string::npos;
  layer->split_ = split == "whitespace"  ? Split::kWhitespace
                  : split == "character" ? Split::kCharacter
                                         : Split::kNone;
  layer->vocabulary_ = std::move(vocabulary);
  return std::unique_ptr<const Layer>(std::move(layer));
}

bool TakesInt64(const Layer& layer) {
  return layer.class_name() == "IntegerLookup" || layer.class_name() == "Hashing";
}

}  // namespace cairn::nn
