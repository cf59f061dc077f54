#include "storage/journal.h"

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/listener.h>
#include <rocksdb/options.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <cstdarg>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/failpoint.h"
#include "common/status_macros.h"
#include "storage/directory.h"
#include "storage/rocksdb_status.h"

namespace cairn::storage {
namespace {

// While a reader opens the journal, the writer may replace the files that the reader has found. The
// next attempt sees the new list of files.
constexpr int kReadOnlyOpenAttempts = 5;

// RocksDB recovers from a full disk by itself, whatever max_bgerror_resume_count is. The journal
// must stay closed for writing until its owner opens it again (see Journal).
class NoSilentRecovery : public rocksdb::EventListener {
 public:
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status,
                            bool* auto_recovery) override {
    *auto_recovery = false;
  }
};

// RocksDB would write a log file beside the journal, and a failed write of it on a full disk aborts
// the process. All errors that matter are returned as a status.
class NoLog : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

rocksdb::Options JournalOptions(rocksdb::Env* env) {
  rocksdb::Options options;
  if (env != nullptr) options.env = env;
  options.create_if_missing = true;
  options.compression = rocksdb::kNoCompression;
  options.write_buffer_size = 8 << 20;
  options.max_bgerror_resume_count = 0;
  options.listeners = {std::make_shared<NoSilentRecovery>()};
  // JobLoader may drop an incomplete record at the end of the log, because its write was not
  // acknowledged. It must not drop records before a damaged one in the middle, because other
  // processes have already acted on them: that is reported as DataLoss.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  options.info_log = std::make_shared<NoLog>();
  return options;
}

rocksdb::Slice ToSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

std::string_view ToView(const rocksdb::Slice& bytes) { return {bytes.data(), bytes.size()}; }

// Returns the smallest key greater than all keys that begin with `prefix`, or nullopt if there is
// none.
std::optional<std::string> EndOfPrefix(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xff) end.pop_back();
  if (end.empty()) return std::nullopt;
  ++end.back();
  return end;
}

std::string Quoted(std::string_view action, const std::string& directory) {
  return absl::StrCat(std::string(action), " \"", directory, "\"");
}

}  // namespace

Journal::Journal(std::string directory, std::unique_ptr<rocksdb::DB> database)
    : directory_(std::move(directory)), database_(std::move(database)) {}

Journal::~Journal() = default;

absl::StatusOr<std::unique_ptr<Journal>> Journal::Open(const std::string& directory,
                                                       rocksdb::Env* env) {
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("journal.open"));
  CAIRN_RETURN_IF_ERROR(CreateDirectories(directory));
  const rocksdb::Options options = JournalOptions(env);
  WaitForLock(options.env, directory);
  rocksdb::DB* database = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open(options, directory, &database);
  if (IsLockHeld(status)) {
    return absl::UnavailableError(absl::StrCat("another coordinator uses ",
                                               Quoted("the journal in", directory),
                                               "; stop it or choose another directory"));
  }
  CAIRN_RETURN_IF_ERROR(FromRocksdb(status, Quoted("cannot open the journal in", directory)));
  return std::unique_ptr<Journal>(new Journal(directory, std::unique_ptr<rocksdb::DB>(database)));
}

absl::StatusOr<std::unique_ptr<const Journal>> Journal::OpenReadOnly(const std::string& directory,
                                                                     rocksdb::Env* env) {
  rocksdb::Options options = JournalOptions(env);
  options.create_if_missing = false;
  if (!options.env->FileExists(directory + "/CURRENT").ok()) {
    return absl::NotFoundError(absl::StrCat("there is no journal in \"", directory, "\""));
  }
  rocksdb::DB* database = nullptr;
  rocksdb::Status status;
  for (int attempt = 0; attempt < kReadOnlyOpenAttempts; ++attempt) {
    status = rocksdb::DB::OpenForReadOnly(options, directory, &database);
    if (status.ok()) break;
  }
  CAIRN_RETURN_IF_ERROR(FromRocksdb(status, Quoted("cannot read the journal in", directory)));
  return std::unique_ptr<const Journal>(
      new Journal(directory, std::unique_ptr<rocksdb::DB>(database)));
}

absl::Status Journal::Write(absl::Span<const Change> changes, bool sync) {
  rocksdb::WriteBatch batch;
  for (const Change& change : changes) {
    CAIRN_CHECK(!change.key.empty());
    if (!change.end.empty()) {
      batch.DeleteRange(change.key, change.end);
    } else if (change.value.has_value()) {
      batch.Put(change.key, *change.value);
    } else {
      batch.Delete(change.key);
    }
  }
  rocksdb::WriteOptions options;
  options.sync = sync;
  // Unsynced records are history that may be lost, so only synced writes pay for this check.
  if (sync) CAIRN_RETURN_IF_ERROR(CheckNotRemoved());
  CAIRN_RETURN_IF_ERROR(sync ? CAIRN_FAILPOINT("journal.sync") : CAIRN_FAILPOINT("journal.write"));
  CAIRN_RETURN_IF_ERROR(FromRocksdb(database_->Write(options, &batch),
                                    Quoted("cannot write to the journal in", directory_)));
  // An error here is that of a write which is on the disk and was not acknowledged.
  return sync ? CAIRN_FAILPOINT("journal.synced") : absl::OkStatus();
}

// RocksDB does not notice that its files have been unlinked: writes to them still succeed, and the
// data are lost when the process exits.
absl::Status Journal::CheckNotRemoved() const {
  return FromRocksdb(database_->GetEnv()->FileExists(directory_ + "/CURRENT"),
                     Quoted("the journal was removed from", directory_));
}

absl::StatusOr<std::optional<std::string>> Journal::Read(std::string_view key) const {
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("journal.read"));
  std::string value;
  const rocksdb::Status status = database_->Get(rocksdb::ReadOptions(), ToSlice(key), &value);
  if (status.IsNotFound()) return std::optional<std::string>();
  CAIRN_RETURN_IF_ERROR(FromRocksdb(status, Quoted("cannot read the journal in", directory_)));
  return std::optional<std::string>(std::move(value));
}

absl::Status Journal::ReadPrefix(
    std::string_view prefix,
    absl::FunctionRef<bool(std::string_view key, std::string_view value)> visit,
    std::string_view from) const {
  const std::optional<std::string> end = EndOfPrefix(prefix);
  const rocksdb::Slice bound = end.has_value() ? rocksdb::Slice(*end) : rocksdb::Slice();
  rocksdb::ReadOptions options;
  if (end.has_value()) options.iterate_upper_bound = &bound;
  const std::unique_ptr<rocksdb::Iterator> records(database_->NewIterator(options));
  for (records->Seek(ToSlice(std::max(prefix, from))); records->Valid(); records->Next()) {
    if (!visit(ToView(records->key()), ToView(records->value()))) return absl::OkStatus();
  }
  return FromRocksdb(records->status(), Quoted("cannot read the journal in", directory_));
}

}  // namespace cairn::storage
