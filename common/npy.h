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

// Reads and writes NumPy's .npy format: arrays of fixed-size numbers, in either byte order.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html

namespace cairn {

// The maximum size of a header. Read this many bytes of a file before calling ParseNpyHeader.
inline constexpr size_t kNpyHeaderBytesMax = 64 * 1024 + 16;

struct NpyHeader {
  char kind = 'f';  // NumPy's letter: 'f' float, 'i' signed, 'u' unsigned, 'b' boolean.
  int64_t item_bytes = 4;
  std::vector<int64_t> shape;  // No negative sizes; empty for a scalar.
  size_t data_offset = 0;      // Offset of the first element in the file.
  bool big_endian = false;     // Byte order of the elements; false for single bytes.
  // The first axis changes fastest from one element of the file to the next, not the last one.
  bool fortran_order = false;

  // 1 for a scalar. ParseNpyHeader guarantees that it fits an int64_t, and so does the size in
  // bytes.
  int64_t element_count() const;
  // "float32", "uint8", "bool".
  std::string type_name() const;
};

// Parses the header of a file of `file_bytes` bytes. `bytes` is the whole file or at least its
// first kNpyHeaderBytesMax bytes. InvalidArgument, with the reason: not a .npy file, an element
// type that NpyHeader does not list, or a shape that does not match the file's size.
absl::StatusOr<NpyHeader> ParseNpyHeader(std::string_view bytes, uint64_t file_bytes);

// Formats the header of a little-endian file in C order. Ignores data_offset, big_endian and
// fortran_order.
std::string FormatNpyHeader(const NpyHeader& header);

// Reverses the bytes of each element. `bytes` contains whole elements.
void SwapElementBytes(int64_t item_bytes, std::string* bytes);

// Converts out.size() elements of the header's type at `bytes`, which contains exactly out.size() *
// item_bytes bytes and need not be aligned. Conversion to float rounds. Conversion to int32 returns
// InvalidArgument with the element's index if a value is not an integer or out of range.
absl::Status DecodeNpyAsFloat(const NpyHeader& header, std::string_view bytes,
                              absl::Span<float> out);
absl::Status DecodeNpyAsInt32(const NpyHeader& header, std::string_view bytes,
                              absl::Span<int32_t> out);

}  // namespace cairn

#endif  // CAIRN_COMMON_NPY_H_
