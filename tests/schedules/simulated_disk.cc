#include "tests/schedules/simulated_disk.h"

#include <algorithm>

namespace cairn::schedules {

const Part* SnapshotDisk::Find(Name name) const {
  const auto part = parts_.find(name);
  return part == parts_.end() ? nullptr : &part->second;
}

const Part* SnapshotDisk::FindSynced(Name name) const {
  for (const Change& change : unsynced_) {
    if (change.name == name) return change.before.has_value() ? &*change.before : nullptr;
  }
  return Find(name);
}

void SnapshotDisk::Remember(Name name) {
  const Part* const before = Find(name);
  unsynced_.push_back({name, before == nullptr ? std::nullopt : std::optional<Part>(*before)});
}

void SnapshotDisk::Write(Name name, Part part) {
  Remember(name);
  parts_[name] = std::move(part);
}

void SnapshotDisk::Delete(uint64_t checkpoint) {
  for (auto part = parts_.begin(); part != parts_.end();) {
    if (part->first.first != checkpoint) {
      ++part;
      continue;
    }
    Remember(part->first);
    part = parts_.erase(part);
  }
}

void SnapshotDisk::LosePower(size_t kept) {
  while (unsynced_.size() > kept) {
    Change& change = unsynced_.back();
    if (change.before.has_value()) {
      parts_[change.name] = *std::move(change.before);
    } else {
      parts_.erase(change.name);
    }
    unsynced_.pop_back();
  }
  Sync();
}

void JournalDisk::Write(Changes changes, bool sync) {
  unsynced_.push_back(std::move(changes));
  if (sync) Apply(unsynced_.size());
}

JournalDisk::Changes JournalDisk::LosePower(size_t kept) {
  Apply(std::min(kept, unsynced_.size()));
  unsynced_.clear();
  Changes all;
  for (const auto& [key, value] : synced_) all.push_back({key, value, ""});
  return all;
}

void JournalDisk::Apply(size_t writes) {
  for (size_t i = 0; i < writes; ++i) {
    for (storage::Journal::Change& change : unsynced_[i]) {
      if (change.value.has_value()) {
        synced_[change.key] = *std::move(change.value);
      } else if (change.end.empty()) {
        synced_.erase(change.key);
      } else {
        synced_.erase(synced_.lower_bound(change.key), synced_.lower_bound(change.end));
      }
    }
  }
  unsynced_.erase(unsynced_.begin(), unsynced_.begin() + static_cast<std::ptrdiff_t>(writes));
}

}  // namespace cairn::schedules
