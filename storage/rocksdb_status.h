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

// RocksDB's status as ours; `action` says what was tried on what, and begins the message.
//   ResourceExhausted: the disk (or a quota) is full       DataLoss: bytes are not what was written
//   NotFound: no such key or file                          Internal: the disk or its driver failed
absl::Status FromRocksdb(const rocksdb::Status& status, std::string_view action);

// True if a directory could not be opened because another database handle, of this process or
// another, holds its lock.
bool IsLockHeld(const rocksdb::Status& status);

// Waits, for 10 s at most, while another process holds the lock of a directory: one that was killed
// holds it until the kernel has taken its memory apart, the longer the more it had.
void AwaitLock(rocksdb::Env* env, const std::string& directory);

}  // namespace cairn::storage

#endif  // CAIRN_STORAGE_ROCKSDB_STATUS_H_
