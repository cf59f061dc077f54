// NumPy's .npy format: the header, and elements of every type, read as floats and as integers.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/check.h"
#include "common/npy.h"
#include "tests/fuzz/fuzz_target.h"

namespace cairn::fuzz {

bool RunInput(std::string_view input) {
  const auto header = ParseNpyHeader(input, input.size());
  if (!header.ok()) return false;
  const auto elements = static_cast<size_t>(header->element_count());
  const std::string_view data = input.substr(header->data_offset);
  CAIRN_CHECK(data.size() == elements * static_cast<size_t>(header->item_bytes));
  std::vector<float> floats(elements);
  CAIRN_CHECK(DecodeNpyAsFloat(*header, data, absl::MakeSpan(floats)).ok());
  std::vector<int32_t> integers(elements);
  static_cast<void>(DecodeNpyAsInt32(*header, data, absl::MakeSpan(integers)));

  std::string again = FormatNpyHeader(*header);
  again.append(data);
  CAIRN_CHECK(ParseNpyHeader(again, again.size())->shape == header->shape);
  return true;
}

}  // namespace cairn::fuzz
