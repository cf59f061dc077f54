#ifndef CAIRN_COORDINATOR_RECOVERY_SNAPSHOT_SURVEY_H_
#define CAIRN_COORDINATOR_RECOVERY_SNAPSHOT_SURVEY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "proto/checkpoint.pb.h"
#include "proto/coordinator.pb.h"

namespace cairn::coordinator {

// Which snapshots of a job every ps of the cluster can read: who was asked, and what they said. A
// pure machine, not thread-safe.
class SnapshotSurvey {
 public:
  explicit SnapshotSurvey(uint32_t ps_count) : ps_(ps_count) {}

  // Those to be asked now.
  std::vector<uint32_t> TakeUnasked();
  // It was asked for something else than this survey. Answers come in the questions' order.
  void AskedAside(uint32_t ps) { ++ps_[ps].owed; }
  // Its stream is broken: the question may be lost, and no answer to an older one comes.
  void PsAway(uint32_t ps);
  // It is another process, perhaps with another disk.
  void PsLost(uint32_t ps) { ps_[ps] = Ps(); }
  // Disks may have changed: everybody is to be asked once more.
  void AskAgain();

  // What answers an older question than the newest is passed over: it may lack what was written
  // since.
  void Reply(uint32_t ps, const proto::SnapshotList& list);
  // All have answered.
  bool complete() const;

  // The ps that can read this part of a checkpoint, those on whose own disk it is first.
  std::vector<uint32_t> Holders(uint64_t checkpoint, const proto::SnapshotPart& part) const;
  // Those on whose own disk it is.
  std::vector<uint32_t> Keepers(uint64_t checkpoint, const proto::SnapshotPart& part) const;

 private:
  struct Ps {
    bool asked = false;
    int owed = 0;  // Answers that have not come on the present stream.
    std::optional<proto::SnapshotList> list;
  };
  std::vector<Ps> ps_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_RECOVERY_SNAPSHOT_SURVEY_H_
