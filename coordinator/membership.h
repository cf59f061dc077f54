#ifndef CAIRN_COORDINATOR_MEMBERSHIP_H_
#define CAIRN_COORDINATOR_MEMBERSHIP_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "coordinator/task.h"
#include "proto/coordinator.pb.h"

namespace cairn::coordinator {

struct MembershipOptions {
  std::string version;
  uint64_t cluster_id = 0;
  uint64_t term = 0;
  std::vector<std::string> ps_addresses;  // The cluster's ps in TF_CONFIG, by index.
  // There are no ps: `ps_addresses` are those of the workers, and ps N is a part of worker N's
  // process, possibly at another port.
  bool workers_hold_parameters = false;
  std::set<uint32_t> named_workers;  // In TF_CONFIG.
  std::set<uint32_t> named_evaluators;
  absl::Duration lease = absl::Seconds(10);
  // A worker, or a ps that writes a snapshot, makes no progress for so long: it hangs.
  absl::Duration progress_timeout = absl::Seconds(60);
  // A worker that holds parameters was not heard for so long, and its lease is over: its blocks
  // move to others.
  absl::Duration rejoin_timeout = absl::Seconds(10);
};

struct Member {
  TaskId task;
  uint64_t instance_id = 0;
  uint64_t incarnation = 0;  // How often this task has joined this coordinator.
  uint64_t session = 0;      // 0: its stream is broken.
  absl::Duration joined;
  absl::Duration last_heard;
  absl::Duration heard_since;  // Since then nothing was missing for half a lease.
  bool lost = false;           // Its lease has expired.
  bool named = false;
  int64_t pid = 0;
  std::string address;
  std::string device;
  std::vector<std::string> devices;  // Of a worker: those of its process, its own first.
  std::string host;
  int64_t memory_limit = 0;  // Bytes; 0: unknown.
  int64_t disk_free = 0;     // Of a ps: bytes, as of its last heartbeat; 0: unknown.
  proto::Activity activity;  // Of a worker, as of its last heartbeat.
  // Of a ps, as of its last heartbeat: the ps that do not answer it, and since when.
  std::map<uint32_t, absl::Duration> silent_ps;
  uint64_t messages_refused = 0;  // Of a ps: that it has refused, as of its last heartbeat.

  bool live() const { return session != 0; }
};

// "loading data"
std::string_view PhaseText(proto::Activity::Phase phase);

// The members of the cluster: which tasks are alive, their leases and incarnations, and the indices
// of workers that TF_CONFIG does not name. Pure state machine; `now` must not decrease. Not
// thread-safe.
class Membership {
 public:
  explicit Membership(MembershipOptions options);

  struct Joined {
    std::optional<proto::Refused> refused;  // If set, no other field is.
    TaskId task;
    uint64_t incarnation = 0;
    // The same process as before, and its lease did not expire in between.
    bool continues = false;
    // The first process that this coordinator has seen for this task.
    bool first = false;
    // The older stream of the same process, to be closed; 0 if there is none.
    uint64_t superseded_session = 0;
  };
  Joined Join(uint64_t session, const proto::Join& join, absl::Duration now);

  // A message came over the stream: renews the lease. Returns nullopt if the session belongs to no
  // member (any more); then ignore the message.
  std::optional<TaskId> Heard(uint64_t session, absl::Duration now);

  // The stream broke; the lease continues. Returns nullopt if the session belonged to no member.
  std::optional<TaskId> StreamEnded(uint64_t session);

  // A worker said what it is doing, a ps how full its disk is.
  void OnHeartbeat(TaskId task, const proto::Heartbeat& heartbeat);
  // A part of a message of the task was refused. Returns how many there were.
  uint64_t CountRefused(TaskId task);
  // For how long the worker has been stuck: in work of its own, or because a live ps does not
  // answer it. Zero if it computes nothing, or waits for others.
  absl::Duration WithoutProgress(TaskId worker) const;

  // `to` does not answer `from`, although both reach this coordinator. A ps may not reach itself.
  struct Gap {
    uint32_t from = 0;
    uint32_t to = 0;
    absl::Duration duration;
  };
  // Between live ps that watch each other, ascending.
  std::vector<Gap> PsGaps() const;
  // Whether both are parts of one process.
  bool InOneProcess(TaskId worker, uint32_t ps) const;

  // "reading batch 17", "stuck in reading batch 17, 83 s"; empty for a task that is not live.
  // `patience`: after which it is stuck; none: progress_timeout.
  std::string ActivityText(TaskId worker,
                           std::optional<absl::Duration> patience = std::nullopt) const;

  struct Expired {
    TaskId task;
    uint64_t session = 0;  // To be closed; 0: already broken.
  };
  // Returns the members whose leases expired, each once. If this machine slept (too long since the
  // last tick) all leases are extended by that time.
  std::vector<Expired> Tick(absl::Duration now);

  // Returns nullptr for a task that never joined.
  const Member* Find(TaskId task) const;
  const std::map<TaskId, Member>& members() const { return members_; }
  bool IsLive(TaskId task) const;
  std::vector<TaskId> Live(proto::Role role) const;
  // The number of workers that TF_CONFIG names, plus other live workers.
  int64_t WorkerCount() const;
  // The number of devices of all workers that TF_CONFIG names and of other live ones, each of which
  // computes batches. A process with several devices counts with all of them as soon as one of its
  // workers has joined, and a named one that never joined with as many as the largest one has.
  int64_t DeviceCount() const;
  // Since when a task is away: it was heard last then, or, if it never joined, the first member
  // joined. Nullopt: it is live, or no member has joined yet.
  std::optional<absl::Duration> AwaySince(TaskId task) const;
  // The addresses of all ps, by index.
  std::vector<std::string> PsAddresses() const;
  const MembershipOptions& options() const { return options_; }
  // For display: version, addresses and members, without meters. `patience` as ActivityText's.
  proto::ClusterStatus Describe(absl::Duration now,
                                std::optional<absl::Duration> patience = std::nullopt) const;

 private:
  struct Challenger {
    uint64_t instance_id = 0;
    absl::Duration since;
  };

  absl::Duration StuckInPhase(const Member& worker) const;
  absl::Duration CutOffFromPs(const Member& worker) const;
  std::string GapText(uint32_t ps) const;
  std::optional<proto::Refused> CheckJoin(const proto::Join& join) const;
  TaskId TaskOf(const proto::Join& join) const;
  bool MayHaveAgain(TaskId task, const proto::Join& join) const;
  uint32_t FreeWorkerIndex() const;
  proto::Refused RefuseDuplicate(const Member& member, const proto::Join& join, absl::Duration now);
  std::vector<TaskId> NamedTasks() const;
  bool IsNamed(TaskId task) const;

  const MembershipOptions options_;
  std::map<TaskId, Member> members_;
  // Unnamed workers that were lost: at most one entry per index. One that comes back has lost its
  // leases to other workers, so it does not count as first.
  std::set<TaskId> forgotten_;
  std::map<uint64_t, TaskId> sessions_;
  // Processes that try to join as a task that is alive, and since when.
  std::map<TaskId, Challenger> challengers_;
  std::optional<absl::Duration> last_tick_;
  std::optional<absl::Duration> first_join_;  // Of any task.
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_MEMBERSHIP_H_
