#ifndef CAIRN_COORDINATOR_MEMBERSHIP_H_
#define CAIRN_COORDINATOR_MEMBERSHIP_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "coordinator/task.h"
#include "proto/coordinator.pb.h"

namespace cairn::coordinator {

struct MembershipOptions {
  std::string version;
  uint64_t cluster_id = 0;
  uint64_t term = 0;
  std::vector<std::string> ps_addresses;  // The cluster's ps, by index.
  std::set<uint32_t> named_workers;       // In TF_CONFIG.
  std::set<uint32_t> named_evaluators;
  absl::Duration lease = absl::Seconds(10);
};

struct Member {
  TaskId task;
  uint64_t instance_id = 0;
  uint64_t incarnation = 0;  // How often this task has joined this coordinator.
  uint64_t session = 0;      // 0: its stream is broken.
  absl::Duration last_heard;
  bool lost = false;  // Its lease is over, or its process was replaced.
  bool named = false;
  int64_t pid = 0;
  std::string address;
  std::string device;
  std::string host;

  bool live() const { return session != 0; }
};

// Who belongs to the cluster, who is alive and until when: leases, incarnations, and the index of
// workers that TF_CONFIG does not name. A pure machine: `now` never goes back. Not thread-safe.
class Membership {
 public:
  explicit Membership(MembershipOptions options);

  struct Joined {
    std::optional<proto::Refused> refused;  // Then nothing else is set.
    TaskId task;
    uint64_t incarnation = 0;
    // The same process as before, and not lost in between.
    bool continues = false;
    // The first process that this coordinator sees in this task.
    bool first = false;
    // The older stream of this very process, to be closed; 0: none.
    uint64_t superseded_session = 0;
  };
  Joined Join(uint64_t session, const proto::Join& join, absl::Duration now);

  // Something came over the stream. nullopt: the session is not a member's (any more), and what
  // came is to be ignored.
  std::optional<TaskId> Heard(uint64_t session, absl::Duration now);

  // nullopt: the session was not a member's (any more).
  std::optional<TaskId> StreamEnded(uint64_t session);

  struct Expired {
    TaskId task;
    uint64_t session = 0;  // To be closed; 0: it was gone already.
  };
  // Members whose lease is over; each is reported once. If the machine itself slept (the time since
  // the last tick says so) nobody is blamed for it.
  std::vector<Expired> Tick(absl::Duration now);

  // nullptr: never seen.
  const Member* Find(TaskId task) const;
  const std::map<TaskId, Member>& members() const { return members_; }
  bool IsLive(TaskId task) const;
  std::vector<TaskId> Live(proto::Role role) const;
  // Workers that TF_CONFIG names and others that are alive.
  int64_t WorkerCount() const;
  const MembershipOptions& options() const { return options_; }
  // For people: version, addresses and members, without what these measure.
  proto::ClusterStatus Describe(absl::Duration now) const;

 private:
  struct Challenger {
    uint64_t instance_id = 0;
    absl::Duration since;
  };

  std::optional<proto::Refused> CheckJoin(const proto::Join& join) const;
  TaskId TaskOf(const proto::Join& join) const;
  bool MayHaveAgain(TaskId task, const proto::Join& join) const;
  uint32_t FreeWorkerIndex() const;
  proto::Refused RefuseDuplicate(const Member& member, const proto::Join& join, absl::Duration now);
  std::vector<TaskId> NamedTasks() const;
  bool IsNamed(TaskId task) const;

  const MembershipOptions options_;
  std::map<TaskId, Member> members_;
  // Were members that nobody named; as many as there are indices at most. One that comes back has
  // lost its leases to others.
  std::set<TaskId> forgotten_;
  std::map<uint64_t, TaskId> sessions_;
  // Who tries to join as a task that is alive, since when.
  std::map<TaskId, Challenger> challengers_;
  std::optional<absl::Duration> last_tick_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_MEMBERSHIP_H_
