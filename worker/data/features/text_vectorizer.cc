#include "worker/data/features/text_vectorizer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"

namespace cairn::worker {
namespace {

// What Keras calls the token that stands for all unknown ones.
constexpr std::string_view kUnknownToken = "[UNK]";

bool IsSpace(char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)); }

// The number of bytes of the character that begins with this byte of UTF-8.
size_t CharacterBytes(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

}  // namespace

TextVectorizer::TextVectorizer(const proto::TextVectorization& spec) {
  const std::string& standardize = spec.standardize();
  lowers_ = standardize.empty() || standardize.compare(0, 5, "lower") == 0;
  strips_ = standardize.empty() || standardize.find("strip_punctuation") != std::string::npos;
  if (spec.split() == "character") unit_ = Unit::kCharacter;
  if (spec.split() == "none") unit_ = Unit::kText;
}

void TextVectorizer::Split(std::string_view text, std::string* scratch,
                           std::vector<std::string_view>* tokens) const {
  scratch->clear();
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (strips_ && absl::ascii_ispunct(byte)) continue;
    // Only the letters of ASCII, as in TensorFlow's strings.lower.
    *scratch += lowers_ ? static_cast<char>(absl::ascii_tolower(byte)) : c;
  }
  tokens->clear();
  const std::string_view all = *scratch;
  if (unit_ == Unit::kText) {
    tokens->push_back(all);
    return;
  }
  for (size_t begin = 0; begin < all.size();) {
    size_t end = begin;
    if (unit_ == Unit::kCharacter) {
      end = std::min(all.size(), begin + CharacterBytes(all[begin]));
    } else {
      while (begin < all.size() && IsSpace(all[begin])) ++begin;
      end = begin;
      while (end < all.size() && !IsSpace(all[end])) ++end;
    }
    if (end > begin) tokens->push_back(all.substr(begin, end - begin));
    begin = end;
  }
}

void TokenCounts::AddText(std::string_view text) {
  vectorizer_.Split(text, &scratch_, &tokens_);
  for (const std::string_view token : tokens_) {
    // Keras leaves these out of the vocabulary, too: their ids are fixed.
    if (!token.empty() && token != kUnknownToken) AddToken(std::string(token), 1);
  }
}

void TokenCounts::Add(const TokenCounts& other) {
  for (const auto& [token, count] : other.counts_) AddToken(token, count);
}

void TokenCounts::AddToken(const std::string& token, int64_t count) {
  int64_t& total = counts_[token];
  if (total == 0) bytes_ += token.size() + 4;
  total += count;
}

void TokenCounts::AddTo(proto::DataFindings::Column* column) const {
  for (const auto& [token, count] : counts_) {
    proto::DataFindings::Token& added = *column->add_tokens();
    added.set_token(token);
    added.set_count(count);
  }
}

}  // namespace cairn::worker
