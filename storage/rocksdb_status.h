#ifndef CAIRN_STORAGE_ROCKSDB_STATUS_H_
#define CAIRN_STORAGE_ROCKSDB_STATUS_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace rocksdb {
class Env;
class Status;
}  // namespace rocksdb

namespace cairn::storage {

// Converts a status of RocksDB. `action` says what failed ("cannot open the journal in ...") and
// begins the message.
//   ResourceExhausted  the disk or a quota is full
//   NotFound           no such key or file
//   DataLoss           corrupted data
//   Internal           any other I/O error
absl::Status FromRocksdb(const rocksdb::Status& status, std::string_view action);

// Makes the creations, renames and deletions of files in `directory` durable.
absl::Status SyncDirectory(rocksdb::Env* env, const std::string& directory,
                           std::string_view action);

// Whether opening a directory failed because another handle, in this process or another, holds its
// lock.
bool IsLockHeld(const rocksdb::Status& status);

// Waits for up to 10 s while another process holds the lock of `directory`. A killed process holds
// its locks until the kernel has freed its memory, which can take seconds.
void WaitForLock(rocksdb::Env* env, const std::string& directory);

}  // namespace cairn::storage

#endif  // CAIRN_STORAGE_ROCKSDB_STATUS_H_
