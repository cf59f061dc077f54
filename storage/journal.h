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

// The coordinator's durable memory: records with names (keys), kept in the order of their bytes,
// changed atomically. Thread-safe. One process writes a directory; any number may read it.
//
// After a failed write the journal refuses all further ones with the same error: what reached the
// disk is not known any more, and only opening it again finds out. A write that failed may be
// there then, wholly; one that succeeded with `sync` is there.
class Journal {
 public:
  struct Change {
    std::string key;                   // not empty
    std::optional<std::string> value;  // nullopt deletes the record
  };

  // Opens the journal in `directory`, or begins one. `env` stands in for the machine's disk in
  // tests; it is not owned. Unavailable: another coordinator uses the directory.
  // FailedPrecondition: it cannot be made. DataLoss: what is there was damaged; nothing of it is
  // dropped in silence.
  static absl::StatusOr<std::unique_ptr<Journal>> Open(const std::string& directory,
                                                       rocksdb::Env* env = nullptr);

  // The records as they are now, for tools; also while a coordinator goes on writing. Changes
  // nothing in the directory. NotFound: no journal is there.
  static absl::StatusOr<std::unique_ptr<const Journal>> OpenReadOnly(const std::string& directory,
                                                                     rocksdb::Env* env = nullptr);

  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // Makes all changes or none, in order: of two with one key the later wins. With `sync` it returns
  // when they, and all earlier writes, would survive a power cut (milliseconds); without, when they
  // would survive the death of this process (microseconds).
  // Internal: what is on the disk is no longer this journal.
  absl::Status Write(absl::Span<const Change> changes, bool sync);

  // nullopt: there is no such record.
  absl::StatusOr<std::optional<std::string>> Read(std::string_view key) const;

  // Calls `visit` for each record whose key begins with `prefix` (empty: for all), in key order,
  // until it returns false. It sees one moment of the journal and may itself write. The views last
  // for the call. Keys below `from` are passed over without being read.
  absl::Status ReadPrefix(
      std::string_view prefix,
      absl::FunctionRef<bool(std::string_view key, std::string_view value)> visit,
      std::string_view from = {}) const;

 private:
  absl::Status CheckThere() const;
  Journal(std::string directory, std::unique_ptr<rocksdb::DB> database);

  const std::string directory_;
  const std::unique_ptr<rocksdb::DB> database_;
};

}  // namespace cairn::storage

#endif  // CAIRN_STORAGE_JOURNAL_H_
