#include "tests/storage/faulty_file_system.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "common/check.h"

namespace cairn::storage {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

std::string ReadWhole(const std::string& path) {
  std::ifstream input(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(input), {});
}

}  // namespace

class FaultyWritableFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  FaultyWritableFile(FaultyFileSystem* disk, std::string path,
                     std::unique_ptr<rocksdb::FSWritableFile> file)
      : FSWritableFileOwnerWrapper(std::move(file)), disk_(disk), path_(std::move(path)) {}

  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                  IODebugContext* debug) override {
    const IOStatus admitted = disk_->Admit();
    if (admitted.ok()) return target()->Append(data, options, debug);
    const rocksdb::Slice half(data.data(), admitted.IsNoSpace() ? data.size() / 2 : 0);
    target()->Append(half, options, debug).PermitUncheckedError();
    return admitted;
  }
  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo&, IODebugContext* debug) override {
    return Append(data, options, debug);
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    const IOStatus admitted = disk_->Admit();
    if (!admitted.ok()) return admitted;
    const IOStatus status = target()->Sync(options, debug);
    if (status.ok()) disk_->FileSynced(path_, target()->GetFileSize(options, debug));
    return status;
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return Sync(options, debug);
  }

 private:
  FaultyFileSystem* const disk_;
  const std::string path_;
};

class FaultyDirectory : public rocksdb::FSDirectoryWrapper {
 public:
  FaultyDirectory(FaultyFileSystem* disk, std::string path,
                  std::unique_ptr<rocksdb::FSDirectory> directory)
      : FSDirectoryWrapper(std::move(directory)), disk_(disk), path_(std::move(path)) {}

  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return FsyncWithDirOptions(options, debug, rocksdb::DirFsyncOptions());
  }
  IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* debug,
                               const rocksdb::DirFsyncOptions& directory_options) override {
    const IOStatus admitted = disk_->Admit();
    if (!admitted.ok()) return admitted;
    disk_->DirectorySynced(path_);
    return FSDirectoryWrapper::FsyncWithDirOptions(options, debug, directory_options);
  }

 private:
  FaultyFileSystem* const disk_;
  const std::string path_;
};

FaultyFileSystem::FaultyFileSystem() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}

void FaultyFileSystem::FillDiskAfter(int operations) { Arm(Fault::kFull, operations); }
void FaultyFileSystem::FailOnceAfter(int operations) { Arm(Fault::kOnce, operations); }
void FaultyFileSystem::CutPowerAfter(int operations) { Arm(Fault::kPower, operations); }
void FaultyFileSystem::Heal() { Arm(Fault::kNone, 0); }

void FaultyFileSystem::Arm(Fault fault, int operations) {
  MutexLock lock(&mutex_);
  fault_ = fault;
  struck_ = false;
  strikes_at_ = operations_ + operations;
}

bool FaultyFileSystem::struck() const {
  MutexLock lock(&mutex_);
  return struck_;
}

int FaultyFileSystem::operations() const {
  MutexLock lock(&mutex_);
  return operations_;
}

IOStatus FaultyFileSystem::Error() const {
  return fault_ == Fault::kFull ? IOStatus::NoSpace("injected") : IOStatus::IOError("injected");
}

IOStatus FaultyFileSystem::Admit() {
  MutexLock lock(&mutex_);
  const int operation = operations_++;
  if (fault_ == Fault::kNone || operation < strikes_at_) return IOStatus::OK();
  if (fault_ == Fault::kOnce && struck_) return IOStatus::OK();
  struck_ = true;
  return Error();
}

IOStatus FaultyFileSystem::NewWritableFile(const std::string& path,
                                           const rocksdb::FileOptions& options,
                                           std::unique_ptr<rocksdb::FSWritableFile>* file,
                                           IODebugContext* debug) {
  const IOStatus admitted = Admit();
  if (!admitted.ok()) return admitted;
  const bool existed = std::filesystem::exists(path);
  std::unique_ptr<rocksdb::FSWritableFile> real;
  const IOStatus status = target()->NewWritableFile(path, options, &real, debug);
  if (!status.ok()) return status;
  file->reset(new FaultyWritableFile(this, path, std::move(real)));
  MutexLock lock(&mutex_);
  synced_bytes_[path] = 0;
  if (!existed) pending_.push_back({path, std::nullopt, std::nullopt});
  return status;
}

IOStatus FaultyFileSystem::NewDirectory(const std::string& path, const IOOptions& options,
                                        std::unique_ptr<rocksdb::FSDirectory>* directory,
                                        IODebugContext* debug) {
  std::unique_ptr<rocksdb::FSDirectory> real;
  const IOStatus status = target()->NewDirectory(path, options, &real, debug);
  if (status.ok()) directory->reset(new FaultyDirectory(this, path, std::move(real)));
  return status;
}

IOStatus FaultyFileSystem::RenameFile(const std::string& from, const std::string& to,
                                      const IOOptions& options, IODebugContext* debug) {
  const IOStatus admitted = Admit();
  if (!admitted.ok()) return admitted;
  std::optional<std::string> replaced;
  if (std::filesystem::exists(to)) replaced = ReadWhole(to);
  const IOStatus status = target()->RenameFile(from, to, options, debug);
  if (!status.ok()) return status;
  MutexLock lock(&mutex_);
  if (replaced.has_value() && synced_bytes_.count(to)) replaced->resize(synced_bytes_[to]);
  synced_bytes_.erase(to);
  if (auto moved = synced_bytes_.extract(from); !moved.empty()) {
    moved.key() = to;
    synced_bytes_.insert(std::move(moved));
  }
  pending_.push_back({to, from, std::move(replaced)});
  return status;
}

IOStatus FaultyFileSystem::LinkFile(const std::string& from, const std::string& to,
                                    const IOOptions& options, IODebugContext* debug) {
  const IOStatus admitted = Admit();
  if (!admitted.ok()) return admitted;
  const IOStatus status = target()->LinkFile(from, to, options, debug);
  if (!status.ok()) return status;
  MutexLock lock(&mutex_);
  if (synced_bytes_.count(from)) synced_bytes_[to] = synced_bytes_[from];
  pending_.push_back({to, std::nullopt, std::nullopt});
  return status;
}

IOStatus FaultyFileSystem::DeleteFile(const std::string& path, const IOOptions& options,
                                      IODebugContext* debug) {
  MutexLock lock(&mutex_);
  if (fault_ == Fault::kPower && struck_) return Error();
  const IOStatus status = target()->DeleteFile(path, options, debug);
  if (!status.ok()) return status;
  synced_bytes_.erase(path);
  std::erase_if(pending_, [&path](const PendingName& change) { return change.path == path; });
  return status;
}

void FaultyFileSystem::FileSynced(const std::string& path, uint64_t size) {
  MutexLock lock(&mutex_);
  if (synced_bytes_.count(path)) synced_bytes_[path] = size;
}

void FaultyFileSystem::DirectorySynced(const std::string& directory) {
  MutexLock lock(&mutex_);
  std::erase_if(pending_, [&directory](const PendingName& change) {
    return std::filesystem::equivalent(std::filesystem::path(change.path).parent_path(), directory);
  });
}

void FaultyFileSystem::Undo(const PendingName& change) {
  if (change.renamed_from.has_value()) {
    std::filesystem::rename(change.path, *change.renamed_from);
    if (auto moved = synced_bytes_.extract(change.path); !moved.empty()) {
      moved.key() = *change.renamed_from;
      synced_bytes_.insert(std::move(moved));
    }
  } else {
    std::filesystem::remove(change.path);
    synced_bytes_.erase(change.path);
  }
  if (change.replaced.has_value()) {
    std::ofstream(change.path, std::ios::binary) << *change.replaced;
  }
}

void FaultyFileSystem::RestorePower() {
  {
    MutexLock lock(&mutex_);
    CAIRN_CHECK(fault_ == Fault::kPower);
    for (auto change = pending_.rbegin(); change != pending_.rend(); ++change) Undo(*change);
    for (const auto& [path, bytes] : synced_bytes_) {
      if (std::filesystem::file_size(path) > bytes) std::filesystem::resize_file(path, bytes);
    }
    pending_.clear();
    synced_bytes_.clear();
  }
  Heal();
}

}  // namespace cairn::storage
