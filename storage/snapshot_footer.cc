#include "storage/snapshot_footer.h"

#include <rocksdb/table.h>

#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace cairn::storage {
namespace {

constexpr size_t kVersionBegin = 41;
constexpr std::string_view kVersionAndMagic("\x05\0\0\0\xf7\xcf\xf4\x85\xb7\x41\xe2\x88", 12);
// Behind each block: its kind of compression and its checksum.
constexpr uint64_t kBlockTrailerBytes = 5;

// Protobuf's variable-length integers are RocksDB's too.
std::optional<uint64_t> TakeVarint(std::string_view* bytes) {
  uint64_t number = 0;
  for (int shift = 0; shift < 64 && !bytes->empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes->front());
    bytes->remove_prefix(1);
    number |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return number;
  }
  return std::nullopt;
}

// Takes the place of a block; false if the file has no such place.
bool TakePlace(uint64_t file_bytes, std::string_view* bytes) {
  const std::optional<uint64_t> offset = TakeVarint(bytes);
  const std::optional<uint64_t> size = TakeVarint(bytes);
  const uint64_t end = file_bytes - kSnapshotFooterBytes;
  return offset.has_value() && size.has_value() && *offset <= end && *size <= end - *offset &&
         kBlockTrailerBytes <= end - *offset - *size;
}

}  // namespace

absl::Status CheckSnapshotFooter(std::string_view footer, uint64_t file_bytes) {
  if (footer.size() != kSnapshotFooterBytes || file_bytes < kSnapshotFooterBytes) {
    return absl::DataLossError(absl::StrCat("it has only ", file_bytes, " bytes"));
  }
  if (footer.substr(kVersionBegin) != kVersionAndMagic) {
    return absl::DataLossError("it does not end like a table file");
  }
  if (footer[0] != static_cast<char>(rocksdb::kXXH3)) {
    return absl::DataLossError(absl::StrCat("its checksums are of kind ",
                                            static_cast<int>(footer[0]), " instead of ",
                                            static_cast<int>(rocksdb::kXXH3)));
  }
  std::string_view places = footer.substr(1, kVersionBegin - 1);
  if (!TakePlace(file_bytes, &places) || !TakePlace(file_bytes, &places)) {
    return absl::DataLossError("its last bytes point outside of it");
  }
  return absl::OkStatus();
}

}  // namespace cairn::storage
