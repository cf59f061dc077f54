#include "coordinator/recovery/snapshot_survey.h"

#include <algorithm>

namespace cairn::coordinator {
namespace {

// Whether the snapshot is on the ps's own disk; nullopt if the ps cannot read it.
std::optional<bool> FindOnOwnDisk(const proto::SnapshotList& list, uint64_t checkpoint,
                                  const proto::SnapshotPart& part) {
  std::optional<bool> own_disk;
  for (const proto::ReadableSnapshot& snapshot : list.snapshots()) {
    // The checksum identifies a snapshot; ps and checkpoint number alone do not.
    const bool is_it = snapshot.checkpoint() == checkpoint && snapshot.part().ps() == part.ps() &&
                       snapshot.part().checksum() == part.checksum();
    if (is_it) own_disk = own_disk.value_or(false) || snapshot.own_disk();
  }
  return own_disk;
}

}  // namespace

std::vector<uint32_t> SnapshotSurvey::TakePsToQuery() {
  std::vector<uint32_t> unasked;
  for (uint32_t ps = 0; ps < ps_.size(); ++ps) {
    // The answer to the last query comes when the disk does.
    if (ps_[ps].asked || absent_.contains(ps) || (ps_[ps].hangs && ps_[ps].owed > 0)) continue;
    ps_[ps].asked = true;
    ++ps_[ps].owed;
    unasked.push_back(ps);
  }
  return unasked;
}

void SnapshotSurvey::PsAway(uint32_t ps) {
  ps_[ps].asked = ps_[ps].list.has_value();
  ps_[ps].owed = 0;
  ps_[ps].hangs = false;
}

void SnapshotSurvey::AskAgain() {
  for (Ps& ps : ps_) {
    ps.asked = false;
    ps.list.reset();
  }
}

void SnapshotSurvey::Reply(uint32_t ps, const proto::SnapshotList& list) {
  const bool is_newest = --ps_[ps].owed <= 0;
  ps_[ps].owed = std::max(ps_[ps].owed, 0);
  if (!is_newest) return;
  ps_[ps].list = list;
  ps_[ps].hangs = false;
}

bool SnapshotSurvey::Awaits(uint32_t ps) const {
  return ps_[ps].asked && !ps_[ps].list.has_value() && !ps_[ps].hangs;
}

bool SnapshotSurvey::complete() const {
  for (uint32_t ps = 0; ps < ps_.size(); ++ps) {
    if (!ps_[ps].list.has_value() && !ps_[ps].hangs && !absent_.contains(ps)) return false;
  }
  return true;
}

std::vector<uint32_t> SnapshotSurvey::Hanging() const {
  std::vector<uint32_t> hanging;
  for (uint32_t ps = 0; ps < ps_.size(); ++ps) {
    if (ps_[ps].hangs) hanging.push_back(ps);
  }
  return hanging;
}

std::vector<uint32_t> SnapshotSurvey::Keepers(uint64_t checkpoint,
                                              const proto::SnapshotPart& part) const {
  std::vector<uint32_t> keepers;
  for (uint32_t ps = 0; ps < ps_.size(); ++ps) {
    if (!ps_[ps].list.has_value() || ps_[ps].hangs) continue;
    if (FindOnOwnDisk(*ps_[ps].list, checkpoint, part).value_or(false)) keepers.push_back(ps);
  }
  return keepers;
}

std::vector<uint32_t> SnapshotSurvey::Holders(uint64_t checkpoint,
                                              const proto::SnapshotPart& part) const {
  std::vector<uint32_t> holders = Keepers(checkpoint, part);
  for (uint32_t ps = 0; ps < ps_.size(); ++ps) {
    if (!ps_[ps].list.has_value() || ps_[ps].hangs) continue;
    const std::optional<bool> own_disk = FindOnOwnDisk(*ps_[ps].list, checkpoint, part);
    if (own_disk.has_value() && !*own_disk) holders.push_back(ps);
  }
  return holders;
}

}  // namespace cairn::coordinator
