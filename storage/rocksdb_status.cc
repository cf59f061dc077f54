#include "storage/rocksdb_status.h"

#include <rocksdb/status.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace cairn::storage {
namespace {

absl::StatusCode CodeOf(const rocksdb::Status& status) {
  if (status.IsNoSpace() || status.subcode() == rocksdb::Status::kSpaceLimit) {
    return absl::StatusCode::kResourceExhausted;
  }
  if (status.IsNotFound() || status.IsPathNotFound()) return absl::StatusCode::kNotFound;
  if (status.IsCorruption()) return absl::StatusCode::kDataLoss;
  // Not Unavailable: that would ask callers to try again, and a disk that failed must not be used
  // as if nothing had happened.
  return absl::StatusCode::kInternal;
}

}  // namespace

absl::Status FromRocksdb(const rocksdb::Status& status, std::string_view action) {
  if (status.ok()) return absl::OkStatus();
  return absl::Status(CodeOf(status), absl::StrCat(std::string(action), ": ", status.ToString()));
}

bool IsLockHeld(const rocksdb::Status& status) {
  if (!status.IsIOError()) return false;
  // RocksDB has no code for it: these are its two texts, for another process and for this one.
  const std::string text = status.ToString();
  return text.find("While lock file") != std::string::npos ||
         text.find("lock hold by current process") != std::string::npos;
}

}  // namespace cairn::storage
