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

// A block as it was written. Owns its bytes; may be moved.
class BlockRecord {
 public:
  // `bytes` are header, then payload, behind `skipped_bytes` of something else.
  BlockRecord(std::string bytes, size_t skipped_bytes, size_t header_bytes)
      : bytes_(std::move(bytes)), header_begin_(skipped_bytes), header_bytes_(header_bytes) {}

  // Header and payload, one after the other.
  std::string_view bytes() const { return std::string_view(bytes_).substr(header_begin_); }
  std::string_view header() const {
    return std::string_view(bytes_).substr(header_begin_, header_bytes_);
  }
  // Not aligned: copy it to floats, do not cast.
  std::string_view payload() const {
    return std::string_view(bytes_).substr(header_begin_ + header_bytes_);
  }

 private:
  std::string bytes_;
  size_t header_begin_;
  size_t header_bytes_;
};

// One finished snapshot, opened for reading. Thread-safe. Goes on working when the snapshot is
// deleted meanwhile. All errors name the file; those of one block name the block too.
class SnapshotReader {
 public:
  // NotFound: there is no such file. DataLoss: it is damaged, unfinished, or another snapshot's.
  static absl::StatusOr<std::unique_ptr<SnapshotReader>> Open(rocksdb::Env* env,
                                                              const std::string& path,
                                                              const SnapshotName& name);

  ~SnapshotReader();
  SnapshotReader(const SnapshotReader&) = delete;
  SnapshotReader& operator=(const SnapshotReader&) = delete;

  const SnapshotSummary& summary() const { return summary_; }

  // The ids of the blocks, ascending.
  std::vector<uint32_t> ListBlocks() const;

  // NotFound: the snapshot has no such block. DataLoss: its bytes are not what was written.
  absl::StatusOr<BlockRecord> ReadBlock(uint32_t block_id) const;

  // Reads everything and compares it with its checksums.
  absl::Status Verify() const;

 private:
  SnapshotReader(std::string path, const SnapshotName& name,
                 std::unique_ptr<rocksdb::SstFileReader> table);

  absl::Status ReadIndex();
  // The record of `entry` if `records` stands on it.
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
