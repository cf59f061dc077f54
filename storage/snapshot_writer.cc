#include "storage/snapshot_writer.h"

#include <rocksdb/env.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_writer.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/failpoint.h"
#include "common/status_macros.h"
#include "storage/disk_progress.h"
#include "storage/rocksdb_status.h"
#include "storage/snapshot_reader.h"
#include "storage/snapshot_table.h"

namespace cairn::storage {

SnapshotWriter::SnapshotWriter(rocksdb::Env* env, const std::string& directory,
                               const std::string& temporary_file, const SnapshotName& name)
    : env_(env),
      directory_(directory),
      temporary_path_(directory + "/" + temporary_file),
      name_(name) {
  const rocksdb::Options options = SnapshotTableOptions(env);
  table_ = std::make_unique<rocksdb::SstFileWriter>(rocksdb::EnvOptions(options), options);
}

SnapshotWriter::~SnapshotWriter() {
  if (!finished_ && status_.ok()) Fail(absl::CancelledError("not finished")).IgnoreError();
}

absl::StatusOr<std::unique_ptr<SnapshotWriter>> SnapshotWriter::Create(
    rocksdb::Env* env, const std::string& directory, const std::string& temporary_file,
    const SnapshotName& name) {
  std::unique_ptr<SnapshotWriter> writer(new SnapshotWriter(env, directory, temporary_file, name));
  absl::Status opened = CAIRN_FAILPOINT("snapshot.create");
  if (opened.ok()) {
    opened =
        FromRocksdb(writer->table_->Open(writer->temporary_path_), writer->ErrorPrefix("create"));
  }
  if (!opened.ok()) return writer->Fail(opened);
  return writer;
}

absl::Status SnapshotWriter::Add(uint32_t block_id, std::string_view header,
                                 absl::Span<const std::string_view> pieces) {
  CAIRN_CHECK(!finished_);
  CAIRN_CHECK(index_.entries.empty() || index_.entries.back().block_id < block_id);
  if (!status_.ok()) return status_;
  disk_progress.fetch_add(1, std::memory_order_relaxed);
  if (absl::Status hit = CAIRN_FAILPOINT("snapshot.add"); !hit.ok()) return Fail(hit);
  index_.entries.push_back(EncodeRecord(block_id, header, pieces, &record_));
  const absl::Status added =
      FromRocksdb(table_->Put(BlockKey(name_, block_id), record_), ErrorPrefix("write"));
  return added.ok() ? added : Fail(added);
}

// The order of the steps makes a snapshot durable before it is visible:
//   1. Sync the data and drop them from the page cache (Close).
//   2. Read them back from the disk and verify them (ReadBack).
//   3. Rename the file to its final name and sync the directory (Publish).
// A crash before 3 leaves an unfinished file, which the store deletes when it is next opened. A
// rename before 1 could leave a file with its final name and without its data.
absl::StatusOr<SnapshotSummary> SnapshotWriter::Finish() {
  CAIRN_CHECK(!finished_);
  if (!status_.ok()) return status_;
  if (absl::Status closed = Close(); !closed.ok()) return Fail(closed);
  if (absl::Status read = ReadBack(); !read.ok()) return Fail(read);
  if (absl::Status published = Publish(); !published.ok()) return Fail(published);
  finished_ = true;
  CAIRN_FAILPOINT("snapshot.published").IgnoreError();
  return index_.Summary();
}

absl::Status SnapshotWriter::Close() {
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("snapshot.close"));
  CAIRN_RETURN_IF_ERROR(
      FromRocksdb(table_->Put(IndexKey(name_), EncodeIndex(index_)), ErrorPrefix("write")));
  // Finish syncs the file and drops it from the page cache, so that ReadBack reads from the disk.
  CAIRN_RETURN_IF_ERROR(FromRocksdb(table_->Finish(), ErrorPrefix("finish")));
  table_.reset();
  return absl::OkStatus();
}

absl::Status SnapshotWriter::ReadBack() const {
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("snapshot.read_back"));
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<SnapshotReader> reader,
                         SnapshotReader::Open(env_, temporary_path_, name_));
  if (reader->summary() != index_.Summary()) {
    return absl::DataLossError(
        absl::StrCat(ErrorPrefix("read back"), ": the index differs from the one written"));
  }
  return reader->Verify();
}

absl::Status SnapshotWriter::Publish() {
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("snapshot.rename"));
  const std::string path = directory_ + "/" + SnapshotFileName(name_);
  CAIRN_RETURN_IF_ERROR(
      FromRocksdb(env_->RenameFile(temporary_path_, path), ErrorPrefix("rename")));
  absl::Status synced = CAIRN_FAILPOINT("snapshot.sync_directory");
  if (synced.ok()) synced = SyncDirectory(env_, directory_, ErrorPrefix("rename"));
  // The caller is told that the snapshot does not exist, so it must not be found later.
  if (!synced.ok()) env_->DeleteFile(path).PermitUncheckedError();
  return synced;
}

absl::Status SnapshotWriter::Fail(absl::Status status) {
  status_ = std::move(status);
  table_.reset();
  // Best effort: the store deletes remaining files when it is next opened.
  env_->DeleteFile(temporary_path_).PermitUncheckedError();
  return status_;
}

std::string SnapshotWriter::ErrorPrefix(std::string_view verb) const {
  return absl::StrCat("cannot ", std::string(verb), " the snapshot of ", DescribeSnapshot(name_),
                      " in \"", directory_, "\"");
}

}  // namespace cairn::storage
