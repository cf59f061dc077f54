#include "coordinator/job_sizes.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cluster/partition_map.h"
#include "common/status_macros.h"
#include "job/job_plan.h"
#include "job/model_program.h"
#include "nn/model.h"

namespace cairn::coordinator {
namespace {

constexpr int64_t kDefaultKeep = 3;
// From this part of the memory on, a ps that ends while it loads may have been ended for its
// memory.
constexpr int64_t kLargePart = 4;

std::string Bytes(int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return unit == 0 ? absl::StrCat(bytes, " B") : absl::StrFormat("%.1f %s", value, kUnits[unit]);
}

// The ps that share a machine, and its memory.
struct Machine {
  std::string host;
  std::vector<uint32_t> ps;
  int64_t memory = 0;  // 0: unknown.

  // "ps 0, ps 1 on host a"
  std::string Name() const {
    const std::string names = absl::StrJoin(
        ps, ", ", [](std::string* out, uint32_t index) { absl::StrAppend(out, "ps ", index); });
    return host.empty() ? names : absl::StrCat(names, " on host ", host);
  }
};

// The memory of a host is the largest limit of a task there: a single task may have a lower one.
std::vector<Machine> MachinesOf(const Membership& members, size_t ps_count) {
  std::map<std::string, Machine> machines;
  for (uint32_t ps = 0; ps < ps_count; ++ps) {
    const Member* const member = members.Find(PsTask(ps));
    if (member == nullptr || member->host.empty()) continue;
    machines[member->host].host = member->host;
    machines[member->host].ps.push_back(ps);
  }
  for (const auto& [task, member] : members.members()) {
    const auto machine = machines.find(member.host);
    if (machine == machines.end()) continue;
    machine->second.memory = std::max(machine->second.memory, member.memory_limit);
  }
  std::vector<Machine> list;
  for (auto& [host, machine] : machines) list.push_back(std::move(machine));
  return list;
}

int64_t MemoryLimitOf(const Membership& members, uint32_t ps) {
  const Member* const member = members.Find(PsTask(ps));
  return member != nullptr ? member->memory_limit : 0;
}

absl::Status TooLarge(const std::string& where, const PsSize& size, int64_t limit) {
  return absl::FailedPreconditionError(absl::StrCat(
      "the job does not fit into the memory of ", where, ": its blocks need ", Bytes(size.memory()),
      " (values ", Bytes(size.values), ", optimizer ", Bytes(size.slots),
      size.replicas > 0 ? absl::StrCat(", replicas ", Bytes(size.replicas)) : "",
      "), the limit is ", Bytes(limit),
      size.replicas > 0
          ? R"(; use a smaller model, or "replicas": false in the strategy)"
          : "; add machines with ps, or use a smaller model or an optimizer with less state"));
}

// The number of checkpoints that are on the disks at the same time, at least.
int64_t CheckpointsAtOnce(const proto::Job& job) {
  const proto::CheckpointPolicy& policy = job.checkpoint();
  const int64_t keep = policy.has_keep() ? policy.keep() : kDefaultKeep;
  const int64_t every = policy.has_every_epochs() ? std::max<int64_t>(1, policy.every_epochs()) : 1;
  // Callbacks may end the job after its first epoch.
  const int64_t epochs = job.has_epochs() && job.callbacks().empty() ? job.epochs() : 1;
  const int64_t written = std::max<int64_t>(1, (epochs + every - 1) / every);
  // The oldest one is deleted when the newest one has its copies.
  return std::min(written, keep + 1);
}

std::string CheckDisks(absl::Span<const PsSize> sizes, const proto::Job& job,
                       const Membership& members) {
  const int64_t at_once = CheckpointsAtOnce(job);
  const bool copied = job::CopiesWanted(job) > 1 && sizes.size() > 1;
  for (uint32_t ps = 0; ps < sizes.size(); ++ps) {
    const Member* const member = members.Find(PsTask(ps));
    if (member == nullptr || member->disk_free == 0) continue;
    const int64_t own = sizes[ps].total();
    const int64_t copy = copied ? sizes[(ps + sizes.size() - 1) % sizes.size()].total() : 0;
    const int64_t needed = at_once * (own + copy);
    if (needed <= member->disk_free) continue;
    return absl::StrCat(
        "the checkpoints do not fit onto the disk of ps ", ps, ": ", at_once, " checkpoints need ",
        Bytes(needed), " (", Bytes(own), " each",
        copied ? absl::StrCat(", and ", Bytes(copy), " for the copy of another ps") : "", "), ",
        Bytes(member->disk_free),
        " are free; make room, or lower checkpoint.keep or checkpoint.copies");
  }
  return "";
}

}  // namespace

std::vector<PsSize> ComputeSizes(const proto::PartitionMap& partition,
                                 absl::Span<const nn::VariableSpec> variables,
                                 const job::VariableRules& rules) {
  std::vector<PsSize> sizes(partition.ps_count());
  for (int block = 0; block < partition.blocks_size(); ++block) {
    const int64_t bytes = cluster::BlockBytes(partition, block);
    PsSize& size = sizes[partition.blocks(block).ps()];
    size.values += bytes;
    const uint32_t variable = partition.blocks(block).variable();
    if (variables[variable].update != nn::VariableSpec::Update::kOptimized) continue;
    size.slots += rules.optimizers[rules.optimizer_of[variable]]->slot_count() * bytes;
  }
  return sizes;
}

absl::StatusOr<std::vector<PsSize>> ComputeSizes(const proto::JobPlan& plan) {
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<nn::Model> model, nn::Model::Create(plan.model()));
  CAIRN_ASSIGN_OR_RETURN(const job::VariableRules rules,
                         job::VariableRules::Create(plan.job(), plan.model(), model->variables()));
  return ComputeSizes(plan.partition(), model->variables(), rules);
}

void AddReplicas(std::vector<PsSize>* sizes) {
  int64_t all = 0;
  for (const PsSize& size : *sizes) all += size.total();
  for (PsSize& size : *sizes) size.replicas = 2 * all - size.total();
}

SizeVerdict CheckSizes(absl::Span<const PsSize> sizes, const proto::Job& job,
                       const Membership& members) {
  SizeVerdict verdict;
  for (uint32_t ps = 0; ps < sizes.size(); ++ps) {
    const int64_t limit = MemoryLimitOf(members, ps);
    if (limit == 0 || sizes[ps].memory() <= limit) continue;
    verdict.refused = TooLarge(absl::StrCat("ps ", ps), sizes[ps], limit);
    return verdict;
  }
  for (const Machine& machine : MachinesOf(members, sizes.size())) {
    PsSize all;
    for (const uint32_t ps : machine.ps) {
      all.values += sizes[ps].values;
      all.slots += sizes[ps].slots;
      all.replicas += sizes[ps].replicas;
    }
    if (machine.memory == 0) continue;
    if (all.memory() > machine.memory) {
      verdict.refused = TooLarge(machine.Name(), all, machine.memory);
      return verdict;
    }
    if (2 * all.memory() > machine.memory) {
      verdict.warning = absl::StrCat("the blocks need ", Bytes(all.memory()), " of the ",
                                     Bytes(machine.memory), " of ", machine.Name(),
                                     ", and up to twice as much while a checkpoint is written");
    }
  }
  if (const std::string disk = CheckDisks(sizes, job, members); !disk.empty()) {
    verdict.refused = absl::FailedPreconditionError(disk);
  }
  return verdict;
}

bool MayExhaust(absl::Span<const PsSize> sizes, uint32_t ps, const Membership& members,
                std::string* text) {
  int64_t needed = sizes[ps].memory();
  int64_t limit = MemoryLimitOf(members, ps);
  for (const Machine& machine : MachinesOf(members, sizes.size())) {
    if (std::find(machine.ps.begin(), machine.ps.end(), ps) == machine.ps.end()) continue;
    if (limit < machine.memory) continue;  // It has a limit of its own.
    needed = 0;
    for (const uint32_t other : machine.ps) needed += sizes[other].memory();
  }
  if (limit == 0 || needed < limit / kLargePart) return false;
  *text = absl::StrCat("it needs ", Bytes(needed), " of ", Bytes(limit));
  return true;
}

}  // namespace cairn::coordinator
