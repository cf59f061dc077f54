#ifndef CAIRN_STORAGE_JOURNAL_H_
#define CAIRN_STORAGE_JOURNAL_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace rocksdb {
class DB;
class Env;
class WriteBatch;
}  // namespace rocksdb

namespace cairn::storage {

// The coordinator's durable key-value store, with atomic changes of several records and iteration
// in key order, in a RocksDB database.
//
//   CAIRN_ASSIGN_OR_RETURN(auto journal, Journal::Open(directory));
//   CAIRN_RETURN_IF_ERROR(journal->Write({{"a", "1"}, {"b", std::nullopt}}, /*sync=*/true));
//
// After a failed write the journal rejects all further writes with the same error, because the
// state of the disk is unknown until the journal is opened again. The failed write is then either
// completely present or absent. A successful write with `sync` is present.
//
// Thread-safe. One process may open a directory for writing; any number may open it read-only.
class Journal {
 public:
  struct Change {
    std::string key;                   // Not empty.
    std::optional<std::string> value;  // nullopt deletes the record.
    std::string end;  // Not empty: deletes all records from `key` to before `end`, however many.
  };

  // Opens the journal in `directory` and creates it if necessary. `env` replaces the operating
  // system's file system in tests; it must outlive the journal. Unavailable: another coordinator
  // has the journal open. FailedPrecondition: the directory cannot be created. DataLoss: records
  // are damaged; damaged records are never dropped silently, other than an incomplete one at the
  // end of the log.
  static absl::StatusOr<std::unique_ptr<Journal>> Open(const std::string& directory,
                                                       rocksdb::Env* env = nullptr);

  // Opens the journal as it is at this moment, also while a coordinator writes to it. Does not
  // change any file. NotFound: there is no journal in `directory`.
  static absl::StatusOr<std::unique_ptr<const Journal>> OpenReadOnly(const std::string& directory,
                                                                     rocksdb::Env* env = nullptr);

  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // Applies all changes or none. Of several changes of one key the last wins. With `sync`, returns
  // when these changes and all earlier ones survive a power failure (milliseconds); without, when
  // they survive a crash of this process (microseconds). Internal: the journal's files have been
  // removed.
  absl::Status Write(absl::Span<const Change> changes, bool sync);

  // Returns nullopt if there is no record with this key.
  absl::StatusOr<std::optional<std::string>> Read(std::string_view key) const;

  // Calls `visit` for each record whose key begins with `prefix` and is not less than `from`, in
  // key order, until it returns false. The records are a consistent snapshot; `visit` may call
  // Write. The views are valid only during the call of `visit`.
  absl::Status ReadPrefix(
      std::string_view prefix,
      absl::FunctionRef<bool(std::string_view key, std::string_view value)> visit,
      std::string_view from = {}) const;

 private:
  absl::Status CheckNotRemoved() const;
  Journal(std::string directory, std::unique_ptr<rocksdb::DB> database);

  const std::string directory_;
  const std::unique_ptr<rocksdb::DB> database_;
};

}  // namespace cairn::storage

#endif  // CAIRN_STORAGE_JOURNAL_H_
