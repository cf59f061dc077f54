#ifndef CAIRN_STORAGE_SNAPSHOT_FOOTER_H_
#define CAIRN_STORAGE_SNAPSHOT_FOOTER_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

namespace cairn::storage {

// A table file ends with these bytes (RocksDB's table/format.h, format version 5): the kind of
// checksum (1), places of two blocks (40), the version (4), a magic number (8). They alone have no
// checksum, and RocksDB believes them: a wrong one can end the process.
inline constexpr uint64_t kSnapshotFooterBytes = 53;

// DataLoss: `footer`, the last kSnapshotFooterBytes of a file of `file_bytes` bytes, is not what
// SnapshotTableOptions makes RocksDB write. Everything else in the file has checksums.
absl::Status CheckSnapshotFooter(std::string_view footer, uint64_t file_bytes);

}  // namespace cairn::storage

#endif  // CAIRN_STORAGE_SNAPSHOT_FOOTER_H_
