#include "nn/precision.h"

#include <algorithm>

namespace cairn::nn {

// In the order of Precision.
const std::vector<std::string>& PrecisionWords() {
  static const auto* const kWords =
      new std::vector<std::string>{"float32", "tensorfloat32", "mixed_bfloat16", "mixed_float16"};
  return *kWords;
}

std::optional<Precision> FindPrecision(std::string_view word) {
  const std::vector<std::string>& words = PrecisionWords();
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) return std::nullopt;
  return static_cast<Precision>(found - words.begin());
}

}  // namespace cairn::nn
