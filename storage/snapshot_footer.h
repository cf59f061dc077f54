#ifndef CAIRN_STORAGE_SNAPSHOT_FOOTER_H_
#define CAIRN_STORAGE_SNAPSHOT_FOOTER_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace cairn::storage {

// A table file ends with these bytes (RocksDB's table/format.h, format version 5): the kind of
// checksum (1), places of two blocks (40), the version (4), a magic number (8). They alone have no
// checksum, and RocksDB believes them: a wrong one can end the process.
inline constexpr uint64_t kSnapshotFooterBytes = 53;

// Where a part of a file lies.
struct BytePlace {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// Takes the last kSnapshotFooterBytes of a file of `file_bytes` bytes. Returns the place of the
// table's properties with their checksum, which lie between its two last blocks; at most
// kSnapshotPropertiesBytesMax. DataLoss: `footer` is not what SnapshotTableOptions makes RocksDB
// write.
absl::StatusOr<BytePlace> CheckSnapshotFooter(std::string_view footer, uint64_t file_bytes);

inline constexpr uint64_t kSnapshotPropertiesBytesMax = uint64_t{64} << 10;

// DataLoss: their checksum is another. RocksDB looks at it only after it has parsed them, which can
// end the process. Everything else in the file it checks first.
absl::Status CheckSnapshotProperties(std::string_view properties);

}  // namespace cairn::storage

#endif  // CAIRN_STORAGE_SNAPSHOT_FOOTER_H_
