#include "storage/snapshot_store.h"

#include <rocksdb/env.h>
#include <xxhash.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/failpoint.h"
#include "common/status_macros.h"
#include "storage/directory.h"
#include "storage/rocksdb_status.h"

namespace cairn::storage {
namespace {

constexpr std::string_view kUnfinishedSuffix = ".unfinished";
// Contains the cluster's id in hexadecimal.
constexpr const char* kClusterFile = "/CLUSTER";

// The content of the file: the id and its checksum.
std::string ClusterText(uint64_t cluster_id) {
  const std::string id = absl::StrCat(absl::Hex(cluster_id));
  return absl::StrCat(id, " ", absl::Hex(XXH3_64bits(id.data(), id.size())), "\n");
}

}  // namespace

SnapshotStore::SnapshotStore(std::string directory, rocksdb::Env* env)
    : directory_(std::move(directory)), env_(env != nullptr ? env : rocksdb::Env::Default()) {}

SnapshotStore::~SnapshotStore() {
  if (lock_ != nullptr) env_->UnlockFile(lock_).PermitUncheckedError();
}

absl::StatusOr<std::unique_ptr<SnapshotStore>> SnapshotStore::Open(const std::string& directory,
                                                                   rocksdb::Env* env) {
  CAIRN_RETURN_IF_ERROR(CreateDirectories(directory));
  std::unique_ptr<SnapshotStore> store(new SnapshotStore(directory, env));
  CAIRN_RETURN_IF_ERROR(store->Lock());
  CAIRN_RETURN_IF_ERROR(store->CleanUp());
  CAIRN_RETURN_IF_ERROR(store->ReadCluster());
  return store;
}

absl::StatusOr<std::unique_ptr<const SnapshotStore>> SnapshotStore::OpenReadOnly(
    const std::string& directory, rocksdb::Env* env) {
  std::unique_ptr<const SnapshotStore> store(new SnapshotStore(directory, env));
  if (store->env_->FileExists(directory).ok()) return store;
  return absl::NotFoundError(absl::StrCat("there is no snapshot store in \"", directory, "\""));
}

absl::Status SnapshotStore::Lock() {
  WaitForLock(env_, directory_);
  const rocksdb::Status locked = env_->LockFile(directory_ + "/LOCK", &lock_);
  if (IsLockHeld(locked)) {
    return absl::UnavailableError(absl::StrCat("another ps uses the snapshot store in \"",
                                               directory_,
                                               "\"; stop it or choose another directory"));
  }
  return FromRocksdb(locked,
                     absl::StrCat("cannot lock the snapshot store in \"", directory_, "\""));
}

absl::Status SnapshotStore::CleanUp() {
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("snapshot_store.clean_up"));
  const std::string action =
      absl::StrCat("cannot clean up the snapshot store in \"", directory_, "\"");
  std::vector<std::string> files;
  CAIRN_RETURN_IF_ERROR(FromRocksdb(env_->GetChildren(directory_, &files), action));
  for (const std::string& file : files) {
    SnapshotName name;
    if (ParseSnapshotFileName(file, &name)) {
      MutexLock lock(&mutex_);
      has_snapshots_ = true;
    }
    if (!std::string_view(file).ends_with(kUnfinishedSuffix)) continue;
    CAIRN_RETURN_IF_ERROR(FromRocksdb(env_->DeleteFile(directory_ + "/" + file), action));
  }
  return absl::OkStatus();
}

absl::Status SnapshotStore::ReadCluster() {
  const std::string path = directory_ + kClusterFile;
  MutexLock lock(&mutex_);
  if (env_->FileExists(path).IsNotFound()) return absl::OkStatus();
  std::string text;
  CAIRN_RETURN_IF_ERROR(FromRocksdb(rocksdb::ReadFileToString(env_, path, &text),
                                    absl::StrCat("cannot read \"", path, "\"")));
  uint64_t cluster_id = 0;
  const bool valid = absl::SimpleHexAtoi(text.substr(0, text.find(' ')), &cluster_id) &&
                     text == ClusterText(cluster_id);
  // Without snapshots there is nothing that another cluster could overwrite.
  if (!valid && has_snapshots_) {
    return absl::DataLossError(absl::StrCat(
        "\"", path, "\" is damaged, so the snapshots beside it may be those of another cluster: ",
        "delete this file if they are not"));
  }
  if (valid) cluster_id_ = cluster_id;
  return absl::OkStatus();
}

uint64_t SnapshotStore::cluster_id() const {
  MutexLock lock(&mutex_);
  return has_snapshots_ ? cluster_id_ : 0;
}

absl::Status SnapshotStore::BelongTo(uint64_t cluster_id) {
  {
    MutexLock lock(&mutex_);
    if (cluster_id_ == cluster_id) return absl::OkStatus();
  }
  const std::string action =
      absl::StrCat("cannot write the cluster id of the snapshots in \"", directory_, "\"");
  const std::string path = directory_ + kClusterFile;
  const std::string unfinished = absl::StrCat(path, std::string(kUnfinishedSuffix));
  // Sync before the rename, so that a crash leaves the old file or the new one, never an empty one.
  // Sync the directory after it: snapshots whose cluster is unknown would be accepted by any.
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("cluster_file.write"));
  CAIRN_RETURN_IF_ERROR(
      FromRocksdb(rocksdb::WriteStringToFile(env_, ClusterText(cluster_id), unfinished,
                                             /*should_sync=*/true),
                  action));
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("cluster_file.rename"));
  CAIRN_RETURN_IF_ERROR(FromRocksdb(env_->RenameFile(unfinished, path), action));
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("cluster_file.sync_directory"));
  CAIRN_RETURN_IF_ERROR(SyncDirectory(env_, directory_, action));
  MutexLock lock(&mutex_);
  cluster_id_ = cluster_id;
  return absl::OkStatus();
}

std::string SnapshotStore::PathOf(const SnapshotName& name) const {
  return directory_ + "/" + SnapshotFileName(name);
}

int64_t SnapshotStore::FreeBytes() const {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(directory_, error);
  return error ? -1 : static_cast<int64_t>(space.available);
}

absl::StatusOr<std::unique_ptr<SnapshotWriter>> SnapshotStore::BeginSnapshot(
    const SnapshotName& name) {
  uint64_t number;
  {
    MutexLock lock(&mutex_);
    number = snapshots_begun_++;
    has_snapshots_ = true;
  }
  // The number separates concurrent writers of one snapshot; the last one to finish wins.
  const std::string file =
      absl::StrCat(SnapshotFileName(name), ".", number, std::string(kUnfinishedSuffix));
  return SnapshotWriter::Create(env_, directory_, file, name);
}

absl::StatusOr<std::unique_ptr<SnapshotReader>> SnapshotStore::OpenSnapshot(
    const SnapshotName& name) const {
  return SnapshotReader::Open(env_, PathOf(name), name);
}

absl::StatusOr<BlockRecord> SnapshotStore::ReadBlock(uint64_t job_id, uint64_t checkpoint,
                                                     uint32_t block_id) const {
  CAIRN_ASSIGN_OR_RETURN(const auto snapshot, OpenSnapshot(job_id, checkpoint));
  return snapshot->ReadBlock(block_id);
}

absl::StatusOr<std::vector<uint32_t>> SnapshotStore::ListBlocks(uint64_t job_id,
                                                                uint64_t checkpoint) const {
  CAIRN_ASSIGN_OR_RETURN(const auto snapshot, OpenSnapshot(job_id, checkpoint));
  return snapshot->ListBlocks();
}

absl::StatusOr<std::vector<SnapshotName>> SnapshotStore::ListNames(uint64_t job_id) const {
  std::vector<std::string> files;
  CAIRN_RETURN_IF_ERROR(
      FromRocksdb(env_->GetChildren(directory_, &files),
                  absl::StrCat("cannot list the snapshot store in \"", directory_, "\"")));
  std::vector<SnapshotName> names;
  for (const std::string& file : files) {
    SnapshotName name;
    if (ParseSnapshotFileName(file, &name) && name.job_id == job_id) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

absl::StatusOr<std::vector<uint64_t>> SnapshotStore::ListSnapshots(uint64_t job_id) const {
  CAIRN_ASSIGN_OR_RETURN(const std::vector<SnapshotName> names, ListNames(job_id));
  std::vector<uint64_t> checkpoints;
  for (const SnapshotName& name : names) {
    if (!name.copy_of.has_value()) checkpoints.push_back(name.checkpoint);
  }
  return checkpoints;
}

absl::Status SnapshotStore::DeleteCheckpoint(uint64_t job_id, uint64_t checkpoint) {
  CAIRN_ASSIGN_OR_RETURN(std::vector<SnapshotName> names, ListNames(job_id));
  std::erase_if(names, [&](const SnapshotName& name) { return name.checkpoint != checkpoint; });
  return Delete(names);
}

absl::Status SnapshotStore::DeleteJob(uint64_t job_id) {
  CAIRN_ASSIGN_OR_RETURN(const std::vector<SnapshotName> names, ListNames(job_id));
  return Delete(names);
}

absl::Status SnapshotStore::Delete(const std::vector<SnapshotName>& names) {
  const std::string action =
      absl::StrCat("cannot delete from the snapshot store in \"", directory_, "\"");
  for (const SnapshotName& name : names) {
    CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("snapshot.delete"));
    const rocksdb::Status deleted = env_->DeleteFile(PathOf(name));
    if (deleted.IsPathNotFound() || deleted.IsNotFound()) continue;
    CAIRN_RETURN_IF_ERROR(FromRocksdb(deleted, action));
  }
  // Without this a deleted snapshot could reappear after a power failure.
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("snapshot.sync_deletion"));
  return SyncDirectory(env_, directory_, action);
}

}  // namespace cairn::storage
