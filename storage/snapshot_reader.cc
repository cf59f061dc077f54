#include "storage/snapshot_reader.h"

#include <rocksdb/env.h>
#include <rocksdb/iterator.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/failpoint.h"
#include "common/status_macros.h"
#include "storage/disk_progress.h"
#include "storage/rocksdb_status.h"
#include "storage/snapshot_footer.h"
#include "storage/snapshot_table.h"

namespace cairn::storage {
namespace {

constexpr size_t kVerifyReadAheadBytes = 4 << 20;

std::string_view ToView(const rocksdb::Slice& bytes) { return {bytes.data(), bytes.size()}; }

// Checks the footer and the properties, which RocksDB uses before it has verified any checksum.
absl::Status CheckFooterAndProperties(rocksdb::Env* env, const std::string& path) {
  const std::string action = absl::StrCat("cannot read the snapshot \"", path, "\"");
  uint64_t file_bytes = 0;
  std::unique_ptr<rocksdb::RandomAccessFile> file;
  CAIRN_RETURN_IF_ERROR(FromRocksdb(env->GetFileSize(path, &file_bytes), action));
  CAIRN_RETURN_IF_ERROR(
      FromRocksdb(env->NewRandomAccessFile(path, &file, rocksdb::EnvOptions()), action));
  char buffer[kSnapshotFooterBytes];
  rocksdb::Slice footer;
  if (file_bytes >= kSnapshotFooterBytes) {
    CAIRN_RETURN_IF_ERROR(FromRocksdb(
        file->Read(file_bytes - kSnapshotFooterBytes, kSnapshotFooterBytes, &footer, buffer),
        action));
  }
  const auto damaged = [&action](const absl::Status& cause) {
    return absl::DataLossError(absl::StrCat(action, ": it is damaged: ", cause.message()));
  };
  const absl::StatusOr<ByteRange> range = CheckSnapshotFooter(ToView(footer), file_bytes);
  if (!range.ok()) return damaged(range.status());
  std::string bytes(range->bytes, '\0');
  rocksdb::Slice properties;
  CAIRN_RETURN_IF_ERROR(
      FromRocksdb(file->Read(range->offset, bytes.size(), &properties, bytes.data()), action));
  const absl::Status checked = CheckSnapshotProperties(ToView(properties));
  return checked.ok() ? checked : damaged(checked);
}

}  // namespace

SnapshotReader::SnapshotReader(std::string path, const SnapshotName& name,
                               std::unique_ptr<rocksdb::SstFileReader> table)
    : path_(std::move(path)), name_(name), table_(std::move(table)) {}

SnapshotReader::~SnapshotReader() = default;

absl::StatusOr<std::unique_ptr<SnapshotReader>> SnapshotReader::Open(rocksdb::Env* env,
                                                                     const std::string& path,
                                                                     const SnapshotName& name) {
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("snapshot.open"));
  const rocksdb::Options options = SnapshotTableOptions(env);
  if (const rocksdb::Status found = options.env->FileExists(path); !found.ok()) {
    return FromRocksdb(
        found, absl::StrCat("no snapshot of ", DescribeSnapshot(name), " at \"", path, "\""));
  }
  CAIRN_RETURN_IF_ERROR(CheckFooterAndProperties(options.env, path));
  auto table = std::make_unique<rocksdb::SstFileReader>(options);
  CAIRN_RETURN_IF_ERROR(
      FromRocksdb(table->Open(path), absl::StrCat("cannot read the snapshot \"", path, "\"")));
  std::unique_ptr<SnapshotReader> reader(new SnapshotReader(path, name, std::move(table)));
  CAIRN_RETURN_IF_ERROR(reader->ReadIndex());
  return reader;
}

absl::Status SnapshotReader::ReadIndex() {
  const std::string key = IndexKey(name_);
  const std::unique_ptr<rocksdb::Iterator> records(table_->NewIterator(rocksdb::ReadOptions()));
  records->Seek(key);
  CAIRN_RETURN_IF_ERROR(FromRocksdb(
      records->status(), absl::StrCat("cannot read the index of the snapshot \"", path_, "\"")));
  if (!records->Valid() || records->key() != key) {
    return absl::DataLossError(
        absl::StrCat("the file \"", path_, "\" is not a snapshot of ", DescribeSnapshot(name_)));
  }
  absl::StatusOr<SnapshotIndex> index = DecodeIndex(ToView(records->value()));
  if (!index.ok()) {
    return absl::DataLossError(
        absl::StrCat("the snapshot \"", path_, "\" is damaged: ", index.status().message()));
  }
  index_ = *std::move(index);
  summary_ = index_.Summary();
  return absl::OkStatus();
}

std::vector<uint32_t> SnapshotReader::ListBlocks() const {
  std::vector<uint32_t> blocks;
  blocks.reserve(index_.entries.size());
  for (const SnapshotIndex::Entry& entry : index_.entries) blocks.push_back(entry.block_id);
  return blocks;
}

absl::Status SnapshotReader::BlockError(uint32_t block_id, const absl::Status& cause) const {
  return absl::Status(cause.code(), absl::StrCat("block ", block_id, " of the snapshot \"", path_,
                                                 "\" cannot be read: ", cause.message()));
}

absl::StatusOr<RecordView> SnapshotReader::Current(const SnapshotIndex::Entry& entry,
                                                   rocksdb::Iterator& records) const {
  disk_progress.fetch_add(1, std::memory_order_relaxed);
  absl::Status status = FromRocksdb(records.status(), "table file");
  if (status.ok() &&
      (!records.Valid() || ToView(records.key()) != BlockKey(name_, entry.block_id))) {
    status = absl::DataLossError("it is in the index but not in the file");
  }
  if (!status.ok()) return BlockError(entry.block_id, status);
  absl::StatusOr<RecordView> record = DecodeRecord(entry, ToView(records.value()));
  if (!record.ok()) return BlockError(entry.block_id, record.status());
  return record;
}

absl::StatusOr<BlockRecord> SnapshotReader::ReadBlock(uint32_t block_id) const {
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("snapshot.read_block"));
  const SnapshotIndex::Entry* entry = index_.Find(block_id);
  if (entry == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("the snapshot \"", path_, "\" has no block ", block_id));
  }
  const std::unique_ptr<rocksdb::Iterator> records(table_->NewIterator(rocksdb::ReadOptions()));
  records->Seek(BlockKey(name_, block_id));
  CAIRN_ASSIGN_OR_RETURN(const RecordView record, Current(*entry, *records));
  const size_t skipped_bytes = record.header.data() - records->value().data();
  return BlockRecord(records->value().ToString(), skipped_bytes, record.header.size());
}

absl::Status SnapshotReader::Verify() const {
  rocksdb::ReadOptions options;
  options.readahead_size = kVerifyReadAheadBytes;
  const std::unique_ptr<rocksdb::Iterator> records(table_->NewIterator(options));
  records->SeekToFirst();
  for (const SnapshotIndex::Entry& entry : index_.entries) {
    CAIRN_RETURN_IF_ERROR(Current(entry, *records).status());
    records->Next();
  }
  return FromRocksdb(records->status(), absl::StrCat("cannot read the snapshot \"", path_, "\""));
}

}  // namespace cairn::storage
