#include "storage/rocksdb_status.h"

#include <fcntl.h>
#include <rocksdb/env.h>
#include <rocksdb/status.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"

// RocksDB asks whether a file supports this call by flags of 0, and ends the process if the answer
// is an error other than ENOSYS: a disk that fails for a moment would kill a ps. The definition is
// here because a program uses that of its own object files before that of a library.
extern "C" int sync_file_range(int file, off64_t offset, off64_t bytes, unsigned int flags) {
  const int result = static_cast<int>(syscall(SYS_sync_file_range, file, offset, bytes, flags));
  if (result != 0 && flags == 0) errno = ENOSYS;
  return result;
}

// RocksDB asks so whether a file exists, and ends the process if the error is none that it knows,
// as that of a file server (ESTALE).
extern "C" int access(const char* file, int mode) noexcept {
  const int result = static_cast<int>(syscall(SYS_faccessat, AT_FDCWD, file, mode));
  if (result == 0 || mode != F_OK) return result;
  constexpr int kKnown[] = {EACCES, ELOOP, ENAMETOOLONG, ENOENT, ENOTDIR, ENOMEM};
  if (std::find(std::begin(kKnown), std::end(kKnown), errno) == std::end(kKnown)) errno = EIO;
  return result;
}

namespace cairn::storage {
namespace {

constexpr std::chrono::seconds kLockTimeout(10);
constexpr std::chrono::milliseconds kLockInterval(20);
// RocksDB has no status code for a held lock, so these parts of its messages are matched.
constexpr const char* kHeldByOtherProcess = "While lock file";
constexpr const char* kHeldByThisProcess = "lock hold by current process";

bool Says(const rocksdb::Status& status, const char* text) {
  return status.IsIOError() && status.ToString().find(text) != std::string::npos;
}

// RocksDB calls a journal corrupted if it could not ask for the size of a table, and quotes why.
bool IsFailedAccess(const rocksdb::Status& status) {
  const std::string text = status.ToString();
  return text.find("IO error") != std::string::npos &&
         text.find("No such file") == std::string::npos;
}

absl::StatusCode CodeOf(const rocksdb::Status& status) {
  if (status.IsNoSpace() || status.subcode() == rocksdb::Status::kSpaceLimit) {
    return absl::StatusCode::kResourceExhausted;
  }
  if (status.IsNotFound() || status.IsPathNotFound()) return absl::StatusCode::kNotFound;
  if (status.IsCorruption() && !IsFailedAccess(status)) return absl::StatusCode::kDataLoss;
  // Not Unavailable: callers retry that, and a disk that has failed must not be used further.
  return absl::StatusCode::kInternal;
}

}  // namespace

absl::Status FromRocksdb(const rocksdb::Status& status, std::string_view action) {
  if (status.ok()) return absl::OkStatus();
  return absl::Status(CodeOf(status), absl::StrCat(std::string(action), ": ", status.ToString()));
}

absl::Status SyncDirectory(rocksdb::Env* env, const std::string& directory,
                           std::string_view action) {
  std::unique_ptr<rocksdb::Directory> handle;
  rocksdb::Status synced = env->NewDirectory(directory, &handle);
  if (synced.ok()) synced = handle->Fsync();
  return FromRocksdb(synced, action);
}

bool IsLockHeld(const rocksdb::Status& status) {
  return Says(status, kHeldByOtherProcess) || Says(status, kHeldByThisProcess);
}

void WaitForLock(rocksdb::Env* env, const std::string& directory) {
  const auto give_up = std::chrono::steady_clock::now() + kLockTimeout;
  rocksdb::FileLock* lock = nullptr;
  rocksdb::Status locked = env->LockFile(directory + "/LOCK", &lock);
  while (Says(locked, kHeldByOtherProcess) && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(kLockInterval);
    locked = env->LockFile(directory + "/LOCK", &lock);
  }
  if (locked.ok()) env->UnlockFile(lock).PermitUncheckedError();
}

}  // namespace cairn::storage
