#ifndef CAIRN_STORAGE_SNAPSHOT_READER_H_
#define CAIRN_STORAGE_SNAPSHOT_READER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/snapshot_format.h"

namespace rocksdb {
class Env;
class Iterator;
class SstFileReader;
}  // namespace rocksdb

namespace cairn::storage {

// A block of a snapshot. Owns its bytes. Movable.
class BlockRecord {
 public:
  // `bytes` consists of `skipped_bytes` that are ignored, the header and the payload.
  BlockRecord(std::string bytes, size_t skipped_bytes, size_t header_bytes)
      : bytes_(std::move(bytes)), header_begin_(skipped_bytes), header_bytes_(header_bytes) {}

  // The header followed by the payload.
  std::string_view bytes() const { return std::string_view(bytes_).substr(header_begin_); }
  std::string_view header() const {
    return std::string_view(bytes_).substr(header_begin_, header_bytes_);
  }
  // May be unaligned: copy it into floats, do not cast the pointer.
  std::string_view payload() const {
    return std::string_view(bytes_).substr(header_begin_ + header_bytes_);
  }

 private:
  std::string bytes_;
  size_t header_begin_;
  size_t header_bytes_;
};

// Reads a finished snapshot. It keeps the file open, so reads succeed even if the snapshot is
// deleted meanwhile. Errors name the file and, if only one block is affected, the block.
// Thread-safe.
class SnapshotReader {
 public:
  // NotFound: the file does not exist. DataLoss: the file is damaged, incomplete, or another
  // snapshot.
  static absl::StatusOr<std::unique_ptr<SnapshotReader>> Open(rocksdb::Env* env,
                                                              const std::string& path,
                                                              const SnapshotName& name);

  ~SnapshotReader();
  SnapshotReader(const SnapshotReader&) = delete;
  SnapshotReader& operator=(const SnapshotReader&) = delete;

  const SnapshotSummary& summary() const { return summary_; }

  // Returns the ids of the blocks in ascending order.
  std::vector<uint32_t> ListBlocks() const;

  // NotFound: the snapshot does not have the block. DataLoss: the block is damaged.
  absl::StatusOr<BlockRecord> ReadBlock(uint32_t block_id) const;

  // Reads the whole file and verifies all checksums. DataLoss: the file is damaged.
  absl::Status Verify() const;

 private:
  SnapshotReader(std::string path, const SnapshotName& name,
                 std::unique_ptr<rocksdb::SstFileReader> table);

  absl::Status ReadIndex();
  // Decodes the record that `records` points to, which must be that of `entry`.
  absl::StatusOr<RecordView> Current(const SnapshotIndex::Entry& entry,
                                     rocksdb::Iterator& records) const;
  absl::Status BlockError(uint32_t block_id, const absl::Status& cause) const;

  const std::string path_;
  const SnapshotName name_;
  const std::unique_ptr<rocksdb::SstFileReader> table_;
  SnapshotIndex index_;
  SnapshotSummary summary_;
};

}  // namespace cairn::storage

#endif  // CAIRN_STORAGE_SNAPSHOT_READER_H_
