#include "worker/data/npy_file.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "common/npy.h"
#include "common/status_macros.h"

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

absl::StatusOr<Array> ReadNpyFile(std::shared_ptr<const FileBytes> file) {
  std::string scratch;
  const size_t head_bytes = std::min<uint64_t>(file->size(), kNpyHeaderBytesMax);
  CAIRN_ASSIGN_OR_RETURN(const char* head, file->Read(0, head_bytes, &scratch));
  const auto header = ParseNpyHeader(std::string_view(head, head_bytes), file->size());
  if (!header.ok()) return file->Malformed(std::string(header.status().message()));
  if (header->shape.empty()) {
    return file->Malformed(
        "it holds a single number, expected an array whose first axis counts "
        "the examples");
  }
  Array::Layout layout;
  layout.type = TypeOf(*header);
  layout.row_shape.assign(header->shape.begin() + 1, header->shape.end());
  layout.offset = header->data_offset;
  layout.big_endian = header->big_endian;
  CAIRN_RETURN_IF_ERROR(CheckRowsNotEmpty(*file, header->shape[0], layout));
  return Array(std::move(file), header->shape[0], layout);
}

}  // namespace cairn::worker
