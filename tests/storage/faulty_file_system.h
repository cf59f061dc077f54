#ifndef CAIRN_TESTS_STORAGE_FAULTY_FILE_SYSTEM_H_
#define CAIRN_TESTS_STORAGE_FAULTY_FILE_SYSTEM_H_

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/mutex.h"

namespace cairn::storage {

// A file system for tests: real files, with the injected fault of a full disk, one failing
// operation, or a power failure. It counts the operations that change the disk (create, append,
// sync, rename, link, sync of a directory), so that a test can fail each of them in turn.
// Thread-safe.
//
// A power failure loses unsynced data at the end of files, and creations, links and renames in
// directories that were not synced. Deletions are durable at once.
class FaultyFileSystem : public rocksdb::FileSystemWrapper {
 public:
  FaultyFileSystem();

  const char* Name() const override { return "FaultyFileSystem"; }

  // After `operations` more operations, all operations that need space fail until Heal. A failing
  // append writes half of its bytes. Deletions succeed.
  void FillDiskAfter(int operations);

  // After `operations` more operations, one operation fails; later ones succeed.
  void FailOnceAfter(int operations);

  // After `operations` more operations, nothing reaches the disk.
  void CutPowerAfter(int operations);

  // Whether the fault has occurred.
  bool struck() const;

  void Heal();

  // Call after CutPowerAfter, when all files are closed. Leaves on disk what a machine would find
  // after a restart.
  void RestorePower();

  // The number of operations so far.
  int operations() const;

  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewDirectory(const std::string& path, const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* directory,
                                 rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus LinkFile(const std::string& from, const std::string& to,
                             const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteFile(const std::string& path, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;

 private:
  friend class FaultyWritableFile;
  friend class FaultyDirectory;
  enum class Fault { kNone, kFull, kOnce, kPower };

  // A change of a directory that a power failure undoes.
  struct PendingName {
    std::string path;
    std::optional<std::string> renamed_from;
    std::optional<std::string> replaced;  // The previous contents of `path`.
  };

  void Arm(Fault fault, int operations);
  // Counts an operation. Returns an error if it is the failing one.
  rocksdb::IOStatus Admit();
  rocksdb::IOStatus Error() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FileSynced(const std::string& path, uint64_t size);
  void DirectorySynced(const std::string& directory);
  void Undo(const PendingName& change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  Fault fault_ ABSL_GUARDED_BY(mutex_) = Fault::kNone;
  bool struck_ ABSL_GUARDED_BY(mutex_) = false;
  int operations_ ABSL_GUARDED_BY(mutex_) = 0;
  int strikes_at_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, uint64_t> synced_bytes_ ABSL_GUARDED_BY(mutex_);
  std::vector<PendingName> pending_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace cairn::storage

#endif  // CAIRN_TESTS_STORAGE_FAULTY_FILE_SYSTEM_H_
