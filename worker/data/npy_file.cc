#include "worker/data/npy_file.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "common/npy.h"
#include "common/status_macros.h"
#include "worker/data/files/spool.h"

namespace cairn::worker {
namespace {

// Of the rows that are brought into C order at a time.
constexpr int64_t kBlockBytes = int64_t{32} << 20;

ElementType TypeOf(const NpyHeader& header) {
  if (header.kind == 'b') return ElementType::kBool;
  if (header.kind == 'f') {
    return header.item_bytes == 2   ? ElementType::kFloat16
           : header.item_bytes == 4 ? ElementType::kFloat32
                                    : ElementType::kFloat64;
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

// The place in a row in C order of the element that has place `column` in Fortran order.
int64_t PlaceInRow(const nn::Shape& row_shape, int64_t column) {
  int64_t place = 0;
  for (const int64_t size : row_shape) {
    place = place * size + column % size;
    column /= size;
  }
  return place;
}

// The elements of an array in Fortran order, in C order. Reads the file once, a block of rows at a
// time, of which each element of a row is a piece.
absl::StatusOr<std::shared_ptr<const FileBytes>> InRows(const FileBytes& file,
                                                        const Array::Layout& layout, int64_t rows,
                                                        DataStorage* storage) {
  Spool spool(file.name(), storage);
  const int64_t item = ElementBytes(layout.type);
  const int64_t elements = nn::ElementCount(layout.row_shape);
  const int64_t step = std::max<int64_t>(1, kBlockBytes / (elements * item));
  std::string block;
  std::string scratch;
  for (int64_t first = 0; first < rows; first += step) {
    const int64_t count = std::min(step, rows - first);
    block.resize(count * elements * item);
    for (int64_t column = 0; column < elements; ++column) {
      CAIRN_ASSIGN_OR_RETURN(
          const char* const piece,
          file.Read(layout.offset + (column * rows + first) * item, count * item, &scratch));
      char* const to = block.data() + PlaceInRow(layout.row_shape, column) * item;
      for (int64_t row = 0; row < count; ++row) {
        std::memcpy(to + row * elements * item, piece + row * item, item);
      }
    }
    CAIRN_RETURN_IF_ERROR(spool.Append(block));
  }
  return spool.Finish();
}

}  // namespace

absl::StatusOr<Array> ReadNpyFile(std::shared_ptr<const FileBytes> file, DataStorage* storage) {
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
  if (header->fortran_order) {
    CAIRN_ASSIGN_OR_RETURN(file, InRows(*file, layout, header->shape[0], storage));
    layout.offset = 0;
  }
  return Array(std::move(file), header->shape[0], layout);
}

}  // namespace cairn::worker
