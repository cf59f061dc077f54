#ifndef CAIRN_TESTS_SCHEDULES_SIMULATED_DISK_H_
#define CAIRN_TESTS_SCHEDULES_SIMULATED_DISK_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "parameters/blocks/push_ledger.h"
#include "storage/journal.h"

namespace cairn::schedules {

// A block on a disk.
struct Stored {
  std::vector<float> values;
  int64_t version = 0;
  parameters::PushLedger ledger;
};
using Part = std::map<uint32_t, Stored>;  // By block id.

// The snapshots of a ps. The power takes what is not synced, from any change on.
class SnapshotDisk {
 public:
  using Name = std::pair<uint64_t, uint32_t>;  // The checkpoint and the part.

  const std::map<Name, Part>& parts() const { return parts_; }
  // Null: there is none.
  const Part* Find(Name name) const;
  // As Find, after a loss of everything that is not synced.
  const Part* FindSynced(Name name) const;

  void Write(Name name, Part part);
  void Delete(uint64_t checkpoint);
  void Sync() { unsynced_.clear(); }

  size_t unsynced() const { return unsynced_.size(); }
  // `kept`: how many of the changes that are not synced have reached the disk, the oldest ones.
  void LosePower(size_t kept);

 private:
  struct Change {
    Name name;
    std::optional<Part> before;
  };
  void Remember(Name name);

  std::map<Name, Part> parts_;
  std::vector<Change> unsynced_;
};

// What a journal has on its disk.
class JournalDisk {
 public:
  using Changes = std::vector<storage::Journal::Change>;

  void Write(Changes changes, bool sync);
  size_t unsynced() const { return unsynced_.size(); }
  // Returns the changes that make an empty journal what it is after a loss of power. `kept`: how
  // many of the writes that are not synced have reached the disk, the oldest ones.
  Changes LosePower(size_t kept);

 private:
  void Apply(size_t writes);

  std::map<std::string, std::string> synced_;
  std::vector<Changes> unsynced_;
};

}  // namespace cairn::schedules

#endif  // CAIRN_TESTS_SCHEDULES_SIMULATED_DISK_H_
