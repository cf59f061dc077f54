#ifndef CAIRN_NN_LAYERS_PREPARATION_H_
#define CAIRN_NN_LAYERS_PREPARATION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"

namespace cairn::nn {

// Layers that prepare raw values in exported models. In a job the reader of the data does this, so
// no device computes them: Model::CreateForExport takes them, Model::Create does not. Outputs are
// whole numbers, as floats.

// IntegerLookup: replaces whole numbers by their indices in a vocabulary.
class IntegerLookupLayer : public Layer {
 public:
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  const std::vector<int64_t>& vocabulary() const { return vocabulary_; }
  // As StringLookupLayer.
  bool takes_unknown() const { return takes_unknown_; }

 private:
  IntegerLookupLayer(Base base, TensorSpec output, std::vector<int64_t> vocabulary,
                     bool takes_unknown)
      : Layer(std::move(base), std::move(output), {}),
        vocabulary_(std::move(vocabulary)),
        takes_unknown_(takes_unknown) {}

  const std::vector<int64_t> vocabulary_;
  const bool takes_unknown_;
};

// Hashing: replaces texts or whole numbers by the numbers of their bins.
class HashingLayer : public Layer {
 public:
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  int64_t bins() const { return bins_; }
  // The two numbers of SipHash's key; empty: FarmHash.
  const std::vector<int64_t>& salt() const { return salt_; }
  // What has bin 0 alone, of numbers and of texts.
  std::optional<int64_t> mask_number() const { return mask_number_; }
  const std::optional<std::string>& mask_text() const { return mask_text_; }

 private:
  HashingLayer(Base base, TensorSpec output) : Layer(std::move(base), std::move(output), {}) {}

  int64_t bins_ = 1;
  std::vector<int64_t> salt_;
  std::optional<int64_t> mask_number_;
  std::optional<std::string> mask_text_;
};

// TextVectorization: replaces a text by the ids of its tokens, `length` of them. 0 is padding, 1
// an unknown token, and the ids of the vocabulary start at 2.
class TextVectorizationLayer : public Layer {
 public:
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  enum class Split { kNone, kWhitespace, kCharacter };
  // Whether the letters of ASCII become small ones, and its punctuation is removed.
  bool lowers() const { return lowers_; }
  bool strips() const { return strips_; }
  Split split() const { return split_; }
  const std::vector<std::string>& vocabulary() const { return vocabulary_; }
  int64_t length() const { return output().shape[0]; }

 private:
  TextVectorizationLayer(Base base, TensorSpec output)
      : Layer(std::move(base), std::move(output), {}) {}

  bool lowers_ = false;
  bool strips_ = false;
  Split split_ = Split::kNone;
  std::vector<std::string> vocabulary_;
};

// Whether the layer takes whole numbers of 64 bits, which an input of the model then has.
bool TakesInt64(const Layer& layer);

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_PREPARATION_H_
