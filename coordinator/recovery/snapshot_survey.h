#ifndef CAIRN_COORDINATOR_RECOVERY_SNAPSHOT_SURVEY_H_
#define CAIRN_COORDINATOR_RECOVERY_SNAPSHOT_SURVEY_H_

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "proto/checkpoint.pb.h"
#include "proto/coordinator.pb.h"

namespace cairn::coordinator {

// Collects which snapshots of a job every ps of the cluster can read: which ps were asked, and
// their answers. Pure state machine, not thread-safe.
class SnapshotSurvey {
 public:
  explicit SnapshotSurvey(uint32_t ps_count) : ps_(ps_count) {}

  // These ps take no part in the job. The survey does not wait for them.
  void SetAbsent(std::set<uint32_t> absent) { absent_ = std::move(absent); }
  const std::set<uint32_t>& absent() const { return absent_; }

  // Returns the ps that must be asked now, and marks them as asked.
  std::vector<uint32_t> TakePsToQuery();
  // Counts a query outside this survey; replies arrive in order.
  void NoteOtherQuery(uint32_t ps) { ++ps_[ps].owed; }
  // Its stream broke: the query may be lost, and no older reply will come.
  void PsAway(uint32_t ps);
  // Its process was replaced, perhaps with another disk.
  void PsLost(uint32_t ps) { ps_[ps] = Ps(); }
  // Disks may have changed: all ps must be asked again.
  void AskAgain();

  // Ignores a reply to an older query than the newest: it may lack later snapshots.
  void Reply(uint32_t ps, const proto::SnapshotList& list);
  // Whether further replies of this ps are to come.
  bool Owes(uint32_t ps) const { return ps_[ps].owed > 0; }
  // Whether the reply of this ps is missing.
  bool Awaits(uint32_t ps) const;
  // Whether all ps have answered, except those whose disks hang.
  bool complete() const;

  // The disk of this ps does not answer. Until the ps does, or is lost, the survey does not wait
  // for it, and it can read nothing.
  void SetHangs(uint32_t ps) { ps_[ps].hangs = true; }
  // The ps whose disks hang.
  std::vector<uint32_t> Hanging() const;

  // The ps that can read this part of a checkpoint; those with it on their own disk come first.
  std::vector<uint32_t> Holders(uint64_t checkpoint, const proto::SnapshotPart& part) const;
  // The ps that have it on their own disk.
  std::vector<uint32_t> Keepers(uint64_t checkpoint, const proto::SnapshotPart& part) const;

 private:
  struct Ps {
    bool asked = false;
    int owed = 0;  // Replies still missing on the current stream.
    bool hangs = false;
    std::optional<proto::SnapshotList> list;
  };
  std::vector<Ps> ps_;
  std::set<uint32_t> absent_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_RECOVERY_SNAPSHOT_SURVEY_H_
