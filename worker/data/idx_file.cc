#include "worker/data/idx_file.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace cairn::worker {
namespace {

constexpr size_t kMagicBytes = 4;

std::optional<ElementType> TypeOf(uint8_t code) {
  switch (code) {
    case 0x08:
      return ElementType::kUint8;
    case 0x09:
      return ElementType::kInt8;
    case 0x0b:
      return ElementType::kInt16;
    case 0x0c:
      return ElementType::kInt32;
    case 0x0d:
      return ElementType::kFloat32;
    case 0x0e:
      return ElementType::kFloat64;
    default:
      return std::nullopt;
  }
}

// Reads `bytes` bytes at `offset`. `what` names them in the error.
absl::StatusOr<std::string> ReadHeader(const FileBytes& file, uint64_t offset, uint64_t bytes,
                                       const char* what) {
  const uint64_t there = std::min(bytes, file.size() - std::min(offset, file.size()));
  if (there < bytes) {
    return file.Malformed(
        absl::StrCat("cut off: ", bytes, " bytes of ", what, " expected, ", there, " found"));
  }
  std::string scratch;
  CAIRN_ASSIGN_OR_RETURN(const char* found, file.Read(offset, bytes, &scratch));
  return std::string(found, bytes);
}

nn::Shape ShapeOf(std::string_view bytes) {
  nn::Shape shape;
  for (size_t at = 0; at < bytes.size(); at += 4) {
    uint32_t size = 0;
    for (int i = 0; i < 4; ++i) size = size << 8 | static_cast<uint8_t>(bytes[at + i]);
    shape.push_back(size);
  }
  return shape;
}

// Checks that the elements fill the rest of the file exactly.
absl::Status CheckSize(const FileBytes& file, ElementType type, const nn::Shape& shape,
                       uint64_t offset) {
  const std::string array = absl::StrCat(ElementName(type), " ", nn::ShapeText(shape));
  int64_t bytes = ElementBytes(type);
  bool empty = false;
  for (const int64_t size : shape) {
    empty |= size == 0;
    // Skips zero sizes, so that rows of an absurd size are rejected even if there are none.
    if (size != 0 && __builtin_mul_overflow(bytes, size, &bytes)) {
      return file.Malformed(absl::StrCat("too large: ", array));
    }
  }
  if (empty) bytes = 0;
  const uint64_t there = file.size() - offset;
  if (there < static_cast<uint64_t>(bytes)) {
    return file.Malformed(
        absl::StrCat("cut off: ", bytes, " bytes of ", array, " expected, ", there, " found"));
  }
  if (there == static_cast<uint64_t>(bytes)) return absl::OkStatus();
  return file.Malformed(
      absl::StrCat("too long: it goes on after the ", bytes, " bytes of ", array));
}

}  // namespace

absl::StatusOr<Array> ReadIdxFile(std::shared_ptr<const FileBytes> file) {
  CAIRN_ASSIGN_OR_RETURN(const std::string magic,
                         ReadHeader(*file, 0, kMagicBytes, "idx signature"));
  const auto type = TypeOf(static_cast<uint8_t>(magic[2]));
  const int axes = static_cast<uint8_t>(magic[3]);
  if (magic[0] != 0 || magic[1] != 0 || !type || axes == 0) {
    return file->Malformed(absl::StrCat(
        "not an idx file: it begins with bytes ", absl::BytesToHexString(magic),
        ", expected 0000, a type (08 uint8, 09 int8, 0b int16, 0c int32, 0d float32, 0e float64) "
        "and at least one axis"));
  }
  CAIRN_ASSIGN_OR_RETURN(const std::string sizes,
                         ReadHeader(*file, kMagicBytes, axes * 4, "axis sizes"));
  const nn::Shape shape = ShapeOf(sizes);
  Array::Layout layout;
  layout.type = *type;
  layout.row_shape.assign(shape.begin() + 1, shape.end());
  layout.offset = kMagicBytes + sizes.size();
  layout.big_endian = true;
  CAIRN_RETURN_IF_ERROR(CheckSize(*file, *type, shape, layout.offset));
  CAIRN_RETURN_IF_ERROR(CheckRowsNotEmpty(*file, shape[0], layout));
  return Array(std::move(file), shape[0], layout);
}

}  // namespace cairn::worker
