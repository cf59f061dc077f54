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

// The test twin of the machine's file system: real files, and on demand a disk that is full, that
// fails once, or whose power is cut. It counts the operations that change the disk (create, append,
// sync, rename, link, sync of a directory), so that a test can fail each of them in turn.
// Thread-safe.
//
// What a power cut forgets: the ends of files that were not synced; creations, links and renames
// whose directory was not synced. Deletions are remembered at once.
class FaultyFileSystem : public rocksdb::FileSystemWrapper {
 public:
  FaultyFileSystem();

  const char* Name() const override { return "FaultyFileSystem"; }

  // `operations` more succeed, then all that need space fail until Heal. An append that fails has
  // written half of its bytes. Deletions succeed.
  void FillDiskAfter(int operations);

  // `operations` more succeed, the next one fails, then all is well again.
  void FailOnceAfter(int operations);

  // `operations` more succeed; nothing that comes later reaches the disk.
  void CutPowerAfter(int operations);

  // Whether the fault has struck.
  bool struck() const;

  void Heal();

  // After CutPowerAfter, and after all files were closed: leaves on disk what a machine would find
  // when it starts again.
  void RestorePower();

  // Operations so far.
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

  // A change of names that a power cut undoes.
  struct PendingName {
    std::string path;
    std::optional<std::string> renamed_from;
    std::optional<std::string> replaced;  // the bytes that were at `path` before
  };

  void Arm(Fault fault, int operations);
  // Counts an operation; an error if the fault strikes it.
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
