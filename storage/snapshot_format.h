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

// One ps's part of a checkpoint is one RocksDB table file (SST). Its records, in key order:
//
//   job, checkpoint, 0, block    the block: xxh3 of what follows (8), bytes of header (4), header,
//                                payload                                        one per block
//   job, checkpoint, 1           the index: for each block its id (4), bytes of header and payload
//                                (8) and xxh3 (8); then the xxh3 of all that (8)
//
// In keys numbers are big endian (8, 8, 1, 4 bytes), so that bytes sort like numbers; elsewhere
// little endian. The index comes last: a file without one was not finished.

// Which snapshot, in the directory of one ps. A copy that is kept for another ps has the same
// records under the same keys.
struct SnapshotName {
  uint64_t job_id = 0;
  uint64_t checkpoint = 0;
  std::optional<uint32_t> copy_of = std::nullopt;  // The index of the ps that wrote it, if another.

  friend bool operator==(const SnapshotName&, const SnapshotName&) = default;
  friend auto operator<=>(const SnapshotName&, const SnapshotName&) = default;
};

// "job 3, checkpoint 7, copy of ps 0's", for messages.
std::string DescribeSnapshot(const SnapshotName& name);

// "job-3.checkpoint-7.sst", "job-3.checkpoint-7.copy-of-ps-0.sst", and back; false if `file` is not
// such a name.
std::string SnapshotFileName(const SnapshotName& name);
bool ParseSnapshotFileName(std::string_view file, SnapshotName* name);

std::string BlockKey(const SnapshotName& name, uint32_t block_id);
std::string IndexKey(const SnapshotName& name);

// What a manifest keeps about a snapshot.
struct SnapshotSummary {
  uint64_t blocks = 0;
  uint64_t bytes = 0;     // of all headers and payloads
  uint64_t checksum = 0;  // over the ids, sizes and checksums of all blocks

  friend bool operator==(const SnapshotSummary&, const SnapshotSummary&) = default;
};

struct SnapshotIndex {
  struct Entry {
    uint32_t block_id = 0;
    uint64_t bytes = 0;  // of header and payload
    uint64_t checksum = 0;
  };

  SnapshotSummary Summary() const;

  // nullptr: the snapshot has no such block.
  const Entry* Find(uint32_t block_id) const;

  std::vector<Entry> entries;  // in the order of block ids
};

std::string EncodeIndex(const SnapshotIndex& index);
absl::StatusOr<SnapshotIndex> DecodeIndex(std::string_view bytes);

// Makes `record` the record of a block and returns its index entry. The payload is all `pieces`,
// one after the other.
SnapshotIndex::Entry EncodeRecord(uint32_t block_id, std::string_view header,
                                  absl::Span<const std::string_view> pieces, std::string* record);

// A view into the bytes that were decoded.
struct RecordView {
  std::string_view header;
  std::string_view payload;
};

// DataLoss: `record` is not, bit for bit, what `entry` was made for.
absl::StatusOr<RecordView> DecodeRecord(const SnapshotIndex::Entry& entry, std::string_view record);

}  // namespace cairn::storage

#endif  // CAIRN_STORAGE_SNAPSHOT_FORMAT_H_
