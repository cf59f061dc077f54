#ifndef CAIRN_STORAGE_SNAPSHOT_FOOTER_H_
#define CAIRN_STORAGE_SNAPSHOT_FOOTER_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace cairn::storage {

// The size of the footer of a table file (RocksDB's table/format.h, format version 5): checksum
// type (1), two block handles (40), format version (4), magic number (8). The footer is the only
// part of a file that has no checksum and that RocksDB uses unchecked: a damaged one can crash the
// process.
inline constexpr uint64_t kSnapshotFooterBytes = 53;

// A range of bytes in a file.
struct ByteRange {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// Checks `footer`, the last kSnapshotFooterBytes of a file of `file_bytes` bytes. Returns the
// location of the table properties and their checksum, which lie between the last two blocks; at
// most kSnapshotPropertiesBytesMax bytes. DataLoss: RocksDB with SnapshotTableOptions cannot have
// written `footer`.
absl::StatusOr<ByteRange> CheckSnapshotFooter(std::string_view footer, uint64_t file_bytes);

inline constexpr uint64_t kSnapshotPropertiesBytesMax = uint64_t{64} << 10;

// Checks the properties against their checksum. RocksDB verifies this checksum only after it has
// parsed the properties, and parsing damaged ones can crash the process. RocksDB verifies all other
// blocks before it uses them. DataLoss: the checksum differs.
absl::Status CheckSnapshotProperties(std::string_view properties);

}  // namespace cairn::storage

#endif  // CAIRN_STORAGE_SNAPSHOT_FOOTER_H_
