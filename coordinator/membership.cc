#include "coordinator/membership.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "cluster/address.h"
#include "google/protobuf/repeated_field.h"
#include "job/strategy.h"

namespace cairn::coordinator {
namespace {

// A larger index is a mistake or an attack.
constexpr uint32_t kWorkersMax = 4096;

proto::Refused Refuse(bool permanent, std::string reason) {
  proto::Refused refused;
  refused.set_permanent(permanent);
  refused.set_reason(std::move(reason));
  return refused;
}

template <typename List>
std::string ListText(const List& addresses) {
  return absl::StrCat("[", absl::StrJoin(addresses, ", "), "]");
}

}  // namespace

std::string_view PhaseText(proto::Activity::Phase phase) {
  switch (phase) {
    case proto::Activity::INSPECTING:
      return "inspecting data";
    case proto::Activity::LOADING:
      return "loading data";
    case proto::Activity::READING:
      return "reading";
    case proto::Activity::COMPUTING:
      return "computing";
    case proto::Activity::WAITING:
      return "waiting for ps";
    default:
      return "idle";
  }
}

Membership::Membership(MembershipOptions options) : options_(std::move(options)) {}

std::optional<proto::Refused> Membership::CheckJoin(const proto::Join& join) const {
  if (join.version() != options_.version) {
    return Refuse(true, absl::StrCat("the coordinator is version ", options_.version,
                                     ", this process is version ", join.version(),
                                     "; run the same version everywhere"));
  }
  // Not permanent: the ps may join once the right coordinator runs.
  if (join.keeps_cluster_id() != 0 && join.keeps_cluster_id() != options_.cluster_id) {
    return Refuse(false,
                  absl::StrCat("its directory has checkpoints of cluster ",
                               absl::Hex(join.keeps_cluster_id()), ", this coordinator's is ",
                               absl::Hex(options_.cluster_id),
                               ": start the coordinator on the --state that it had, or, if that is "
                               "lost for good, this ps on an empty one"));
  }
  // Terms of another cluster do not compare with ours.
  const bool is_ours = join.cluster_id() == 0 || join.cluster_id() == options_.cluster_id;
  if (is_ours && join.term_seen() > options_.term) {
    return Refuse(false, absl::StrCat("this coordinator's term is ", options_.term,
                                      ", the task has seen term ", join.term_seen(),
                                      "; a newer coordinator must be running, or this one has got "
                                      "an old copy of its journal"));
  }
  const auto& own = join.ps_addresses();
  if (!own.empty() && !std::equal(own.begin(), own.end(), options_.ps_addresses.begin(),
                                  options_.ps_addresses.end())) {
    return Refuse(true, absl::StrCat("the lists of ps differ: the coordinator has ",
                                     ListText(options_.ps_addresses), ", this process ",
                                     ListText(own), "; give both the same TF_CONFIG cluster"));
  }
  const int64_t ps_count = static_cast<int64_t>(options_.ps_addresses.size());
  if (join.role() == proto::PS && (join.index() < 0 || join.index() >= ps_count)) {
    return Refuse(true, absl::StrCat("there is no ps ", join.index(), ": the cluster has ",
                                     ps_count, ": ", ListText(options_.ps_addresses)));
  }
  if (join.role() == proto::PS && options_.workers_hold_parameters) {
    const auto address = cluster::ParseAddress(join.address());
    if (!address.ok()) {
      return Refuse(true, absl::StrCat("address: ", std::string(address.status().message())));
    }
  }
  if (join.devices_size() > job::kDevicesMax ||
      !std::all_of(join.devices().begin(), join.devices().end(), job::IsDeviceName)) {
    return Refuse(true, absl::StrCat("a worker has at most ", job::kDevicesMax,
                                     " devices, which are cpu:0, cuda:0 and the like"));
  }
  const bool may_work = join.role() == proto::WORKER || join.role() == proto::EVALUATOR;
  if (may_work && (join.index() < -1 || join.index() >= kWorkersMax)) {
    return Refuse(true, absl::StrCat("a worker's index is -1 or from 0 to ", kWorkersMax - 1,
                                     ", not ", join.index()));
  }
  if (!may_work && join.role() != proto::PS) {
    return Refuse(true, absl::StrCat("role ", static_cast<int>(join.role()),
                                     " does not join: only ps, workers and evaluators do"));
  }
  return std::nullopt;
}

std::vector<TaskId> Membership::NamedTasks() const {
  std::vector<TaskId> tasks;
  for (uint32_t ps = 0; ps < options_.ps_addresses.size(); ++ps) tasks.push_back(PsTask(ps));
  for (const uint32_t worker : options_.named_workers) tasks.push_back(WorkerTask(worker));
  for (const uint32_t evaluator : options_.named_evaluators) {
    tasks.push_back({proto::EVALUATOR, evaluator});
  }
  return tasks;
}

bool Membership::IsNamed(TaskId task) const {
  if (task.role == proto::PS) return true;
  const auto& named =
      task.role == proto::WORKER ? options_.named_workers : options_.named_evaluators;
  return named.contains(task.index);
}

uint32_t Membership::FreeWorkerIndex() const {
  const auto& named = options_.named_workers;
  uint32_t index = named.empty() ? 0 : *named.rbegin() + 1;
  while (IsLive(WorkerTask(index))) ++index;
  return index;
}

// Whether an unnamed worker may have its previous index again: no other process has taken it, and
// TF_CONFIG does not name it.
bool Membership::MayHaveAgain(TaskId task, const proto::Join& join) const {
  const Member* member = Find(task);
  const bool taken =
      member != nullptr && member->live() && member->instance_id != join.instance_id();
  return !taken && !IsNamed(task);
}

TaskId Membership::TaskOf(const proto::Join& join) const {
  if (join.index() >= 0) {
    const TaskId wanted = {join.role(), static_cast<uint32_t>(join.index())};
    if (!join.any_index() || MayHaveAgain(wanted, join)) return wanted;
  }
  for (const auto& [task, member] : members_) {
    if (task.role == join.role() && member.instance_id == join.instance_id()) return task;
  }
  return {join.role(), FreeWorkerIndex()};
}

proto::Refused Membership::RefuseDuplicate(const Member& member, const proto::Join& join,
                                           absl::Duration now) {
  Challenger& challenger = challengers_[member.task];
  if (challenger.instance_id != join.instance_id()) challenger = {join.instance_id(), now};
  // The other process may be hung; then its lease expires and this one may join. If it is alive for
  // a whole lease, two processes have the same TF_CONFIG.
  const bool permanent = now - challenger.since > options_.lease;
  return Refuse(permanent,
                absl::StrCat(member.task.Name(), " is alive in another process (pid ", member.pid,
                             member.address.empty() ? "" : " at ", member.address,
                             permanent ? "); two processes must not have the same task index"
                                       : "); try again when its lease is over"));
}

Membership::Joined Membership::Join(uint64_t session, const proto::Join& join, absl::Duration now) {
  Joined result;
  result.refused = CheckJoin(join);
  if (result.refused.has_value()) return result;
  const TaskId task = TaskOf(join);
  if (task.index >= kWorkersMax) {
    result.refused = Refuse(false, absl::StrCat("there are ", kWorkersMax, " workers already"));
    return result;
  }
  const bool known = members_.contains(task);
  // A worker that gets a new index was a member before: its leases are gone.
  const bool moved = join.index() >= 0 && task.index != join.index();
  result.first = !known && !moved && !forgotten_.contains(task);
  Member& member = members_[task];
  const bool same = known && member.instance_id == join.instance_id();
  if (member.live() && !same) {
    result.refused = RefuseDuplicate(member, join, now);
    return result;
  }
  result.task = task;
  result.continues = same && !member.lost;
  // From here on the old session is unknown: a message still in flight on it is ignored by Heard,
  // so reports arrive on one stream at a time.
  result.superseded_session = member.session;
  sessions_.erase(member.session);
  sessions_[session] = task;
  challengers_.erase(task);
  // Every join counts, also that of the same process on a new stream.
  const uint64_t incarnation = member.incarnation + 1;
  const uint64_t messages_refused = task.role == proto::PS ? 0 : member.messages_refused;
  member = Member{.task = task,
                  .instance_id = join.instance_id(),
                  .incarnation = incarnation,
                  .session = session,
                  .joined = now,
                  .last_heard = now,
                  .heard_since = now,
                  .named = IsNamed(task),
                  .pid = join.pid(),
                  .address = join.address(),
                  .device = join.device(),
                  .devices = {join.devices().begin(), join.devices().end()},
                  .host = join.host(),
                  .memory_limit = join.memory_limit_bytes(),
                  .messages_refused = messages_refused};
  result.incarnation = incarnation;
  if (!first_join_.has_value()) first_join_ = now;
  return result;
}

std::optional<TaskId> Membership::Heard(uint64_t session, absl::Duration now) {
  auto it = sessions_.find(session);
  if (it == sessions_.end()) return std::nullopt;
  Member& member = members_[it->second];
  if (now - member.last_heard > options_.lease / 2) member.heard_since = now;
  member.last_heard = now;
  return it->second;
}

std::optional<TaskId> Membership::StreamEnded(uint64_t session) {
  auto it = sessions_.find(session);
  if (it == sessions_.end()) return std::nullopt;
  const TaskId task = it->second;
  sessions_.erase(it);
  members_[task].session = 0;
  return task;
}

void Membership::OnHeartbeat(TaskId task, const proto::Heartbeat& heartbeat) {
  const auto it = members_.find(task);
  if (it == members_.end()) return;
  it->second.activity = heartbeat.activity();
  Member& member = it->second;
  member.disk_free = std::max<int64_t>(0, heartbeat.disk_free_bytes());
  member.silent_ps.clear();
  if (task.role != proto::PS) return;
  member.messages_refused = heartbeat.messages_refused();
  for (const proto::SilentPs& silent : heartbeat.silent_ps()) {
    if (silent.ps() >= options_.ps_addresses.size()) continue;
    member.silent_ps[silent.ps()] =
        member.last_heard - absl::Milliseconds(std::max<int64_t>(0, silent.milliseconds()));
  }
}

uint64_t Membership::CountRefused(TaskId task) {
  const auto it = members_.find(task);
  return it == members_.end() ? 0 : ++it->second.messages_refused;
}

absl::Duration Membership::WithoutProgress(TaskId worker) const {
  const Member* member = Find(worker);
  if (member == nullptr || !member->live()) return absl::ZeroDuration();
  return std::max(StuckInPhase(*member), CutOffFromPs(*member));
}

absl::Duration Membership::StuckInPhase(const Member& worker) const {
  const proto::Activity::Phase phase = worker.activity.phase();
  if (phase == proto::Activity::IDLE || phase == proto::Activity::WAITING) {
    return absl::ZeroDuration();
  }
  return absl::Milliseconds(worker.activity.milliseconds_without_progress());
}

// A ps that is absent is no fault of the worker, nor is the time before the ps joined.
absl::Duration Membership::CutOffFromPs(const Member& worker) const {
  const Member* const ps = Find(PsTask(worker.activity.silent_ps()));
  if (ps == nullptr || !ps->live()) return absl::ZeroDuration();
  return std::clamp(absl::Milliseconds(worker.activity.milliseconds_of_silence()),
                    absl::ZeroDuration(),
                    std::max(absl::ZeroDuration(), worker.last_heard - ps->joined));
}

// A process that is stopped answers neither the others nor this coordinator: that is no gap, and
// none while its first heartbeats come before its answers.
std::vector<Membership::Gap> Membership::PsGaps() const {
  std::vector<Gap> gaps;
  for (const auto& [task, from] : members_) {
    if (task.role != proto::PS || !from.live()) continue;
    for (const auto& [ps, silent_since] : from.silent_ps) {
      const Member* const to = Find(PsTask(ps));
      if (to == nullptr || !to->live()) continue;
      const absl::Duration since = std::max({silent_since, from.heard_since, to->heard_since});
      const absl::Duration duration = std::min(from.last_heard, to->last_heard) - since;
      if (duration > absl::ZeroDuration()) gaps.push_back({task.index, ps, duration});
    }
  }
  return gaps;
}

bool Membership::InOneProcess(TaskId worker, uint32_t ps) const {
  // Containers on one machine may have the same pid and host name.
  if (options_.workers_hold_parameters && worker.role == proto::WORKER && IsNamed(worker)) {
    return worker.index == ps;
  }
  const Member* const first = Find(worker);
  const Member* const second = Find(PsTask(ps));
  return first != nullptr && second != nullptr && first->pid != 0 && first->pid == second->pid &&
         first->host == second->host;
}

// The longest gap of a ps that has lasted too long: "no answer from ps 0, 83 s", or empty.
std::string Membership::GapText(uint32_t ps) const {
  absl::Duration longest = options_.progress_timeout;
  std::string text;
  for (const Gap& gap : PsGaps()) {
    if (gap.duration <= longest || (gap.from != ps && gap.to != ps)) continue;
    longest = gap.duration;
    const std::string seconds = absl::StrCat(", ", absl::ToInt64Seconds(longest), " s");
    text = gap.from == ps ? absl::StrCat("no answer from ps ", gap.to, seconds)
                          : absl::StrCat("does not answer ps ", gap.from, seconds);
  }
  return text;
}

std::string Membership::ActivityText(TaskId worker, std::optional<absl::Duration> patience) const {
  const absl::Duration too_long = patience.value_or(options_.progress_timeout);
  const Member* member = Find(worker);
  if (member == nullptr || !member->live()) return "";
  std::string text(PhaseText(member->activity.phase()));
  if (member->activity.batch() >= 0) absl::StrAppend(&text, " batch ", member->activity.batch());
  const auto seconds = [](absl::Duration time) {
    return absl::StrCat(", ", absl::ToInt64Seconds(time), " s");
  };
  const absl::Duration hangs = StuckInPhase(*member);
  if (hangs > too_long) return absl::StrCat("stuck in ", text, seconds(hangs));
  const absl::Duration silence = CutOffFromPs(*member);
  if (silence > too_long) {
    return absl::StrCat("stuck without an answer from ps ", member->activity.silent_ps(),
                        seconds(silence));
  }
  return text;
}

std::vector<Membership::Expired> Membership::Tick(absl::Duration now) {
  const absl::Duration slept = now - last_tick_.value_or(now);
  last_tick_ = now;
  // A suspended machine or a stalled loop receives no heartbeats. That is no reason to drop
  // members.
  if (slept > options_.lease / 2) {
    for (auto& [task, member] : members_) {
      member.last_heard += slept;
      member.heard_since = std::max(member.heard_since, now);
    }
  }
  std::vector<Expired> expired;
  for (auto& [task, member] : members_) {
    if (member.lost || now - member.last_heard <= options_.lease) continue;
    // The session ends with the lease: a late report of this task must not count once its leases
    // are given to others.
    expired.push_back({task, member.session});
    sessions_.erase(member.session);
    member.session = 0;
    member.lost = true;
  }
  // An unnamed worker leaves only its index, which another worker may get.
  std::erase_if(members_, [this](const auto& entry) {
    const bool forget = entry.second.lost && !entry.second.named;
    if (forget) forgotten_.insert(entry.first);
    return forget;
  });
  return expired;
}

const Member* Membership::Find(TaskId task) const {
  auto it = members_.find(task);
  return it == members_.end() ? nullptr : &it->second;
}

bool Membership::IsLive(TaskId task) const {
  const Member* member = Find(task);
  return member != nullptr && member->live();
}

std::vector<TaskId> Membership::Live(proto::Role role) const {
  std::vector<TaskId> live;
  for (const auto& [task, member] : members_) {
    if (task.role == role && member.live()) live.push_back(task);
  }
  return live;
}

int64_t Membership::WorkerCount() const {
  int64_t count = static_cast<int64_t>(options_.named_workers.size());
  for (const TaskId task : Live(proto::WORKER)) count += IsNamed(task) ? 0 : 1;
  return count;
}

int64_t Membership::DeviceCount() const {
  // The workers of a process differ in their indices only.
  std::map<std::pair<std::string, int64_t>, int64_t> of_processes;
  int64_t most = 1;
  for (const auto& [task, member] : members_) {
    if (task.role != proto::WORKER || (!member.live() && !member.named)) continue;
    const int64_t devices = std::max<int64_t>(1, static_cast<int64_t>(member.devices.size()));
    of_processes[{member.host, member.pid}] = devices;
    most = std::max(most, devices);
  }
  int64_t count = 0;
  for (const auto& [process, devices] : of_processes) count += devices;
  // The number of a job's batches per update must not depend on who is late.
  for (const uint32_t worker : options_.named_workers) {
    if (!members_.contains(WorkerTask(worker))) count += most;
  }
  return count;
}

std::optional<absl::Duration> Membership::AwaySince(TaskId task) const {
  const Member* const member = Find(task);
  if (member == nullptr) return first_join_;
  if (member->live()) return std::nullopt;
  return member->last_heard;
}

std::vector<std::string> Membership::PsAddresses() const {
  std::vector<std::string> addresses = options_.ps_addresses;
  if (!options_.workers_hold_parameters) return addresses;
  for (uint32_t ps = 0; ps < addresses.size(); ++ps) {
    const Member* const member = Find(PsTask(ps));
    if (member != nullptr) addresses[ps] = member->address;
  }
  return addresses;
}

proto::ClusterStatus Membership::Describe(absl::Duration now,
                                          std::optional<absl::Duration> patience) const {
  proto::ClusterStatus status;
  status.set_version(options_.version);
  const std::vector<std::string> ps_addresses = PsAddresses();
  status.mutable_ps_addresses()->Assign(ps_addresses.begin(), ps_addresses.end());
  for (const auto& [task, member] : members_) {
    proto::Member* shown = status.add_members();
    shown->set_role(task.role);
    shown->set_index(task.index);
    shown->set_address(member.address);
    shown->set_incarnation(member.incarnation);
    shown->set_live(member.live());
    shown->set_lease_age_seconds(absl::ToDoubleSeconds(now - member.last_heard));
    shown->set_pid(member.pid);
    shown->set_device(member.device);
    shown->set_named(member.named);
    shown->set_host(member.host);
    shown->set_memory_limit_bytes(member.memory_limit);
    shown->set_disk_free_bytes(member.disk_free);
    shown->set_messages_refused(member.messages_refused);
    shown->set_activity(task.role == proto::PS ? GapText(task.index)
                                               : ActivityText(task, patience));
  }
  for (const TaskId task : NamedTasks()) {
    if (members_.contains(task)) continue;
    proto::Member* shown = status.add_members();
    shown->set_role(task.role);
    shown->set_index(task.index);
    shown->set_named(true);
    if (task.role == proto::PS) shown->set_address(ps_addresses[task.index]);
  }
  auto* shown = status.mutable_members();
  std::sort(shown->pointer_begin(), shown->pointer_end(),
            [](const proto::Member* a, const proto::Member* b) {
              return std::pair(a->role(), a->index()) < std::pair(b->role(), b->index());
            });
  return status;
}

}  // namespace cairn::coordinator
