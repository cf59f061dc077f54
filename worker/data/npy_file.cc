#include "worker/data/npy_file.h"

#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/npy.h"
#include "common/status_macros.h"
#include "worker/data/file_reader.h"

namespace cairn::worker {
namespace {

ElementType TypeOf(const NpyHeader& header) {
  if (header.kind == 'b') return ElementType::kBool;
  if (header.kind == 'f') {
    return header.item_bytes == 4 ? ElementType::kFloat32 : ElementType::kFloat64;
  }
  const bool is_signed = header.kind == 'i';
  switch (header.item_bytes) {
    case 1:
      return is_signed ? ElementType::kInt8 : ElementType::kUint8;
    case 2:
      return is_signed ? ElementType::kInt16 : ElementType::kUint16;
    case 4:
      return is_signed ? ElementType::kInt32 : ElementType::kUint32;
    default:
      return is_signed ? ElementType::kInt64 : ElementType::kUint64;
  }
}

}  // namespace

absl::StatusOr<Array> ReadNpyFile(const std::string& path) {
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<FileReader> reader, FileReader::Open(path));
  Array array;
  array.file = path;
  CAIRN_RETURN_IF_ERROR(reader->Read(std::numeric_limits<uint64_t>::max(), &array.bytes));
  auto header = ParseNpyHeader(array.bytes, array.bytes.size());
  if (!header.ok()) return reader->Malformed(std::string(header.status().message()));
  if (header->shape.empty()) {
    return reader->Malformed(
        "it holds a single number, expected an array whose first axis counts "
        "the examples");
  }
  if (header->big_endian) {
    array.bytes.erase(0, header->data_offset);
    header->data_offset = 0;
    SwapElementBytes(header->item_bytes, &array.bytes);
  }
  array.type = TypeOf(*header);
  array.shape = std::move(header->shape);
  array.data_offset = header->data_offset;
  return array;
}

}  // namespace cairn::worker
