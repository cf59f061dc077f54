#ifndef CAIRN_STORAGE_SNAPSHOT_FORMAT_H_
#define CAIRN_STORAGE_SNAPSHOT_FORMAT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace cairn::storage {

// Format of a snapshot, one ps's part of a checkpoint. It is a RocksDB table file (SST) with these
// records, in key order:
//
//   key                            value
//   job, checkpoint, 0, block id   a block: XXH3 of the rest of the value (8), header size (4),
//                                  header, payload
//   job, checkpoint, 1             the index: for each block its id (4), size of header and payload
//                                  (8), XXH3 (8); then the XXH3 of these entries (8)
//
// Numbers in keys are big-endian (8, 8, 1 and 4 bytes), so that keys sort by number; all other
// numbers are little-endian. The index is the last record: a file without it is incomplete.

// Identifies a snapshot in the directory of a ps. The copy of another ps's snapshot has the same
// records and keys as the original.
struct SnapshotName {
  uint64_t job_id = 0;
  uint64_t checkpoint = 0;
  // Index of the ps that wrote it, if not this one.
  std::optional<uint32_t> copy_of = std::nullopt;

  friend bool operator==(const SnapshotName&, const SnapshotName&) = default;
  friend auto operator<=>(const SnapshotName&, const SnapshotName&) = default;
};

// "job 3, checkpoint 7, copy of ps 0's", for error messages.
std::string DescribeSnapshot(const SnapshotName& name);

// Converts to and from file names: "job-3.checkpoint-7.sst", "job-3.checkpoint-7.copy-of-ps-0.sst".
// ParseSnapshotFileName returns false and leaves `name` unchanged if `file` is not such a name.
std::string SnapshotFileName(const SnapshotName& name);
bool ParseSnapshotFileName(std::string_view file, SnapshotName* name);

std::string BlockKey(const SnapshotName& name, uint32_t block_id);
std::string IndexKey(const SnapshotName& name);

// The part of a snapshot's description that is kept in the checkpoint's manifest.
struct SnapshotSummary {
  uint64_t blocks = 0;
  uint64_t bytes = 0;     // Size of all headers and payloads.
  uint64_t checksum = 0;  // Of the ids, sizes and checksums of all blocks.

  friend bool operator==(const SnapshotSummary&, const SnapshotSummary&) = default;
};

struct SnapshotIndex {
  struct Entry {
    uint32_t block_id = 0;
    uint64_t bytes = 0;  // Size of header and payload.
    uint64_t checksum = 0;
  };

  SnapshotSummary Summary() const;

  // Returns nullptr if the snapshot does not have the block.
  const Entry* Find(uint32_t block_id) const;

  std::vector<Entry> entries;  // Sorted by block id.
};

std::string EncodeIndex(const SnapshotIndex& index);
absl::StatusOr<SnapshotIndex> DecodeIndex(std::string_view bytes);

// Encodes a block into `*record` and returns its index entry. The payload is the concatenation of
// `pieces`.
SnapshotIndex::Entry EncodeRecord(uint32_t block_id, std::string_view header,
                                  absl::Span<const std::string_view> pieces, std::string* record);

// A view of the decoded bytes.
struct RecordView {
  std::string_view header;
  std::string_view payload;
};

// DataLoss: `record` is not exactly the record that `entry` was returned for.
absl::StatusOr<RecordView> DecodeRecord(const SnapshotIndex::Entry& entry, std::string_view record);

}  // namespace cairn::storage

#endif  // CAIRN_STORAGE_SNAPSHOT_FORMAT_H_
