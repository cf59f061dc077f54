#ifndef CAIRN_COORDINATOR_JOB_SIZES_H_
#define CAIRN_COORDINATOR_JOB_SIZES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "coordinator/membership.h"
#include "job/model_program.h"
#include "nn/variable_spec.h"
#include "proto/job.pb.h"

namespace cairn::coordinator {

// The bytes of a job's blocks on one ps. A snapshot has about the size total().
struct PsSize {
  int64_t values = 0;
  int64_t slots = 0;
  // The blocks of the other ps, and of all blocks the state before the last update or after the
  // next.
  int64_t replicas = 0;

  int64_t total() const { return values + slots; }
  int64_t memory() const { return total() + replicas; }
};

// By ps. `rules` are those of the variables.
std::vector<PsSize> ComputeSizes(const proto::PartitionMap& partition,
                                 absl::Span<const nn::VariableSpec> variables,
                                 const job::VariableRules& rules);
absl::StatusOr<std::vector<PsSize>> ComputeSizes(const proto::JobPlan& plan);

// For a job in which every ps has a replica of every block: sets `replicas`.
void AddReplicas(std::vector<PsSize>* sizes);

struct SizeVerdict {
  // FailedPrecondition, with the figures and what to change: the job cannot run on this cluster.
  absl::Status refused;
  // Not empty: the job may not be able to run.
  std::string warning;
};

// Compares what a job certainly needs (its blocks in memory; its checkpoints on the disks), and
// what it may need (a second copy of the blocks while a checkpoint is written and training goes
// on), with what the ps have reported. What they have not reported is not judged. The ps of one
// host share its memory.
SizeVerdict CheckSizes(absl::Span<const PsSize> sizes, const proto::Job& job,
                       const Membership& members);

// Whether the blocks of this ps, with those of the other ps on its host, take a large part of the
// memory: if the ps ends while it loads them, the kernel may have ended it. `text` is then set to
// "it needs 12.0 GiB of 16.0 GiB".
bool MayExhaust(absl::Span<const PsSize> sizes, uint32_t ps, const Membership& members,
                std::string* text);

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_JOB_SIZES_H_
