#ifndef CAIRN_COMMON_NPY_H_
#define CAIRN_COMMON_NPY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

// NumPy's .npy format, as bytes: C order, of fixed-size numbers, in little or big endian.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html

namespace cairn {

// No header is longer: what must be read of a file before ParseNpyHeader can be sure.
inline constexpr size_t kNpyHeaderBytesMax = 64 * 1024 + 16;

struct NpyHeader {
  char kind = 'f';  // NumPy's letter: 'f' float, 'i' signed, 'u' unsigned, 'b' boolean.
  int64_t item_bytes = 4;
  std::vector<int64_t> shape;  // Nothing negative; empty for a scalar.
  size_t data_offset = 0;      // Where the elements begin in the file.
  bool big_endian = false;     // How elements of several bytes stand in the file.

  // 1 for a scalar. Fits, in bytes too: ParseNpyHeader sees to it.
  int64_t element_count() const;
  // "float32", "uint8", "bool".
  std::string type_name() const;
};

// Reads the header at the beginning of a file of `file_bytes` bytes; `bytes` is the whole file or
// at least its first kNpyHeaderBytesMax bytes. InvalidArgument, saying why: not a .npy file, a type
// that is not listed above, Fortran order, a shape that does not fit the file's size.
absl::StatusOr<NpyHeader> ParseNpyHeader(std::string_view bytes, uint64_t file_bytes);

// The header of a file whose elements follow at once, in little endian. Its data_offset and
// big_endian are not looked at.
std::string FormatNpyHeader(const NpyHeader& header);

// Turns the bytes of each element around; `bytes` holds whole elements.
void SwapElementBytes(int64_t item_bytes, std::string* bytes);

// Converts `out.size()` elements that stand at `bytes` in the header's type. `bytes` holds exactly
// out.size() * item_bytes bytes, which need not be aligned. Float: every type, rounded. Int32:
// InvalidArgument, naming the element, for one that is not whole or out of range.
absl::Status DecodeNpyAsFloat(const NpyHeader& header, std::string_view bytes,
                              absl::Span<float> out);
absl::Status DecodeNpyAsInt32(const NpyHeader& header, std::string_view bytes,
                              absl::Span<int32_t> out);

}  // namespace cairn

#endif  // CAIRN_COMMON_NPY_H_
