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
#include "common/status_macros.h"
#include "storage/directory.h"
#include "storage/rocksdb_status.h"

namespace cairn::storage {
namespace {

// A reader may find a file gone that the writer has just replaced; the next attempt sees the new
// list of files.
constexpr int kReadOnlyOpenAttempts = 5;

// RocksDB resumes by itself after a full disk, whatever max_bgerror_resume_count says. Here the
// owner decides, by opening the journal again.
class NoSilentRecovery : public rocksdb::EventListener {
 public:
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status,
                            bool* auto_recovery) override {
    *auto_recovery = false;
  }
};

// RocksDB's own log file would lie beside the journal; on a full disk writing it ends the process
// with an assertion. What matters comes back as a status.
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
  // Only a torn end may be dropped, since nobody was told that it was written. Damage further
  // ahead must not cut off decisions that others have acted upon.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  options.info_log = std::make_shared<NoLog>();
  return options;
}

rocksdb::Slice ToSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

std::string_view ToView(const rocksdb::Slice& bytes) { return {bytes.data(), bytes.size()}; }

// The first key behind all that begin with `prefix`; nullopt if there is none.
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
  CAIRN_RETURN_IF_ERROR(CreateDirectories(directory));
  const rocksdb::Options options = JournalOptions(env);
  AwaitLock(options.env, directory);
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
    if (change.value.has_value()) {
      batch.Put(change.key, *change.value);
    } else {
      batch.Delete(change.key);
    }
  }
  rocksdb::WriteOptions options;
  options.sync = sync;
  if (sync) CAIRN_RETURN_IF_ERROR(CheckThere());
  return FromRocksdb(database_->Write(options, &batch),
                     Quoted("cannot write to the journal in", directory_));
}

// RocksDB goes on writing to files that nobody will find again.
absl::Status Journal::CheckThere() const {
  return FromRocksdb(database_->GetEnv()->FileExists(directory_ + "/CURRENT"),
                     Quoted("somebody has removed the journal in", directory_));
}

absl::StatusOr<std::optional<std::string>> Journal::Read(std::string_view key) const {
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
