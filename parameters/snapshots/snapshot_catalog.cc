#include "parameters/snapshots/snapshot_catalog.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "parameters/snapshots/upload_store.h"
#include "storage/directory.h"

namespace cairn::parameters {

namespace {

constexpr std::string_view kDirectoryPrefix = "ps-";

// Returns the index of the ps whose directory has this name.
std::optional<uint32_t> PsOfDirectory(std::string_view name) {
  if (!name.starts_with(kDirectoryPrefix)) return std::nullopt;
  name.remove_prefix(kDirectoryPrefix.size());
  uint32_t ps = 0;
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), ps);
  // Reject "ps-01".
  if (parsed.ec != std::errc() || absl::StrCat(ps) != name) return std::nullopt;
  return ps;
}

// Returns the name of the snapshot of ps `part` in the directory of ps `store_ps`.
storage::SnapshotName NameOf(uint64_t job_id, uint64_t checkpoint, uint32_t part,
                             uint32_t store_ps) {
  storage::SnapshotName name{job_id, checkpoint};
  if (part != store_ps) name.copy_of = part;
  return name;
}

}  // namespace

void SnapshotCatalog::ForEachStore(Visit visit) const {
  if (!visit(own_, ps_) || parent_directory_.empty()) return;
  // If the directory does not exist, there are no other ps on this machine.
  const absl::StatusOr<std::vector<std::string>> names = storage::ListDirectory(parent_directory_);
  if (!names.ok()) return;
  std::set<uint32_t> others;
  for (const std::string& name : *names) {
    const std::optional<uint32_t> ps = PsOfDirectory(name);
    if (ps.has_value() && *ps != ps_) others.insert(*ps);
  }
  for (const uint32_t ps : others) {
    const auto store =
        storage::SnapshotStore::OpenReadOnly(absl::StrCat(parent_directory_, "/ps-", ps));
    if (store.ok() && !visit(**store, ps)) return;
  }
}

proto::SnapshotList SnapshotCatalog::List(uint64_t job_id) const {
  proto::SnapshotList list;
  list.set_job_id(job_id);
  std::set<std::tuple<uint64_t, uint32_t, uint64_t>> seen;
  ForEachStore([&](const storage::SnapshotStore& store, uint32_t store_ps) {
    const auto names = store.ListNames(job_id);
    const bool own_disk = store_ps == ps_;
    if (!names.ok()) {
      CAIRN_LOG_WARNING("cannot list snapshots", "error", names.status());
      if (own_disk) list.set_incomplete(true);
      return true;
    }
    for (const storage::SnapshotName& name : *names) {
      if (name.checkpoint >= UploadStore::kFirstSnapshot) continue;
      const auto snapshot = store.OpenSnapshot(name);
      if (!snapshot.ok()) {
        CAIRN_LOG_WARNING("cannot read a snapshot", "error", snapshot.status());
        if (own_disk) list.set_incomplete(true);
        continue;
      }
      const uint32_t part = name.copy_of.value_or(store_ps);
      const storage::SnapshotSummary& summary = (*snapshot)->summary();
      if (!seen.insert({name.checkpoint, part, summary.checksum}).second) continue;
      proto::ReadableSnapshot& entry = *list.add_snapshots();
      entry.set_checkpoint(name.checkpoint);
      entry.mutable_part()->set_ps(part);
      entry.mutable_part()->set_blocks(summary.blocks);
      entry.mutable_part()->set_bytes(summary.bytes);
      entry.mutable_part()->set_checksum(summary.checksum);
      entry.set_own_disk(own_disk);
    }
    return true;
  });
  return list;
}

absl::StatusOr<std::unique_ptr<storage::SnapshotReader>> SnapshotCatalog::Open(
    uint64_t job_id, uint64_t checkpoint, const proto::SnapshotPart& part) const {
  std::unique_ptr<storage::SnapshotReader> found;
  absl::Status damaged;
  ForEachStore([&](const storage::SnapshotStore& store, uint32_t store_ps) {
    auto snapshot = store.OpenSnapshot(NameOf(job_id, checkpoint, part.ps(), store_ps));
    if (!snapshot.ok()) {
      if (!absl::IsNotFound(snapshot.status())) damaged.Update(snapshot.status());
      return true;
    }
    if (part.checksum() != 0 && (*snapshot)->summary().checksum != part.checksum()) return true;
    found = *std::move(snapshot);
    return false;
  });
  if (found != nullptr) return found;
  if (!damaged.ok()) return damaged;
  return absl::NotFoundError(absl::StrCat("ps ", ps_, " has no snapshot of ps ", part.ps(),
                                          "'s part of checkpoint ", checkpoint, " of job ",
                                          job_id));
}

}  // namespace cairn::parameters
