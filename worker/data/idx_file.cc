#include "worker/data/idx_file.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/npy.h"
#include "common/status_macros.h"
#include "worker/data/file_reader.h"

namespace cairn::worker {
namespace {

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

// Reads exactly `bytes` bytes, which are the file's `what`.
absl::StatusOr<std::string> ReadExactly(FileReader* reader, uint64_t bytes, const char* what) {
  std::string result;
  CAIRN_RETURN_IF_ERROR(reader->Read(bytes, &result));
  if (result.size() != bytes) {
    return reader->Malformed(absl::StrCat("cut off: ", bytes, " bytes of ", what, " expected, ",
                                          result.size(), " found"));
  }
  return result;
}

absl::StatusOr<nn::Shape> ReadShape(FileReader* reader, int axes) {
  CAIRN_ASSIGN_OR_RETURN(const std::string bytes, ReadExactly(reader, axes * 4, "axis sizes"));
  nn::Shape shape;
  for (int axis = 0; axis < axes; ++axis) {
    uint32_t size = 0;
    for (int i = 0; i < 4; ++i) size = size << 8 | static_cast<uint8_t>(bytes[axis * 4 + i]);
    shape.push_back(size);
  }
  return shape;
}

// The bytes that `array`'s elements take; nullopt if the number does not fit.
std::optional<uint64_t> DataBytes(const Array& array) {
  int64_t bytes = ElementBytes(array.type);
  for (int64_t size : array.shape) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) return std::nullopt;
  }
  return bytes;
}

absl::Status ReadElements(FileReader* reader, Array* array) {
  const auto bytes = DataBytes(*array);
  if (!bytes) return reader->Malformed(absl::StrCat("too large: ", array->ToString()));
  CAIRN_ASSIGN_OR_RETURN(array->bytes, ReadExactly(reader, *bytes, array->ToString().c_str()));
  std::string rest;
  CAIRN_RETURN_IF_ERROR(reader->Read(1, &rest));
  if (!rest.empty()) {
    return reader->Malformed(
        absl::StrCat("too long: it goes on after the ", *bytes, " bytes of ", array->ToString()));
  }
  SwapElementBytes(ElementBytes(array->type), &array->bytes);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Array> ReadIdxFile(const std::string& path) {
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<FileReader> reader, FileReader::Open(path));
  CAIRN_ASSIGN_OR_RETURN(const std::string magic, ReadExactly(reader.get(), 4, "idx signature"));
  const auto type = TypeOf(static_cast<uint8_t>(magic[2]));
  const int axes = static_cast<uint8_t>(magic[3]);
  if (magic[0] != 0 || magic[1] != 0 || !type || axes == 0) {
    return reader->Malformed(absl::StrCat(
        "not an idx file: it begins with bytes ", absl::BytesToHexString(magic),
        ", expected 0000, a type (08 uint8, 09 int8, 0b int16, 0c int32, 0d float32, 0e float64) "
        "and at least one axis"));
  }
  Array array;
  array.file = path;
  array.type = *type;
  CAIRN_ASSIGN_OR_RETURN(array.shape, ReadShape(reader.get(), axes));
  CAIRN_RETURN_IF_ERROR(ReadElements(reader.get(), &array));
  return array;
}

}  // namespace cairn::worker
