#include "common/plural.h"

namespace cairn {

std::string Plural(int64_t count, std::string_view noun) {
  std::string text = std::to_string(count) + " ";
  text += noun;
  if (count != 1) text += 's';
  return text;
}

}  // namespace cairn
