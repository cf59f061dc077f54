#ifndef CAIRN_WORKER_DATA_FEATURES_TEXT_VECTORIZER_H_
#define CAIRN_WORKER_DATA_FEATURES_TEXT_VECTORIZER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "proto/job.pb.h"

namespace cairn::worker {

// Divides texts into tokens, as Keras's TextVectorization does. Immutable, thread-safe.
class TextVectorizer {
 public:
  explicit TextVectorizer(const proto::TextVectorization& spec);

  // Sets `*tokens` to the tokens of the text. They point into `*scratch`.
  void Split(std::string_view text, std::string* scratch,
             std::vector<std::string_view>* tokens) const;

 private:
  enum class Unit { kWord, kCharacter, kText };
  bool lowers_ = true;
  bool strips_ = true;
  Unit unit_ = Unit::kWord;
};

// Counts the tokens of texts, except for those of padding and of unknown tokens. Not thread-safe.
class TokenCounts {
 public:
  explicit TokenCounts(const proto::TextVectorization& spec) : vectorizer_(spec) {}

  void AddText(std::string_view text);
  void Add(const TokenCounts& other);

  // The number of different tokens.
  size_t size() const { return counts_.size(); }
  // About the size of all different tokens in protobuf.
  size_t bytes() const { return bytes_; }

  void AddTo(proto::DataFindings::Column* column) const;

 private:
  void AddToken(const std::string& token, int64_t count);

  TextVectorizer vectorizer_;
  std::unordered_map<std::string, int64_t> counts_;
  size_t bytes_ = 0;
  std::string scratch_;
  std::vector<std::string_view> tokens_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_FEATURES_TEXT_VECTORIZER_H_
