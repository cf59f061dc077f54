#ifndef CAIRN_PARAMETERS_BLOCKS_JOB_LAYOUT_H_
#define CAIRN_PARAMETERS_BLOCKS_JOB_LAYOUT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "job/job_plan.h"
#include "job/model_program.h"
#include "nn/optimizer.h"
#include "nn/optimizers/gradient_clip.h"
#include "nn/variable_spec.h"
#include "parameters/blocks/consistency.h"
#include "proto/job.pb.h"

namespace cairn::parameters {

// A block of this ps: rows [row_begin, row_end) of a variable, which are its elements [begin, begin
// + count).
struct BlockSpec {
  uint32_t id = 0;        // Index in the job's PartitionMap.
  uint32_t variable = 0;  // Index in the job's PartitionMap and in the model.
  std::string name;       // For messages: "block 7 (dense/kernel rows 0 to 99)".
  int64_t row_begin = 0;
  int64_t row_end = 0;
  int64_t begin = 0;
  int64_t count = 0;
  nn::VariableSpec::Update update = nn::VariableSpec::Update::kOptimized;
  double momentum = 0;  // Of moving statistics, in one update.
  int optimizer = 0;    // See JobLayout::optimizer.

  bool pushed() const { return update != nn::VariableSpec::Update::kFrozen; }
};

// The immutable part of a job on one ps: a validated plan, and derived data. A replicated job has a
// second layout, of the replicas. Thread-safe.
class JobLayout {
 public:
  // Which blocks it contains.
  enum class Part {
    kOwned,     // Those of this ps.
    kReplicas,  // Those of all other ps.
  };

  // `variables` are those of the plan's model (nn::Model). InvalidArgument: the plan contradicts
  // them, or its partition map, optimizer or numbers are invalid.
  static absl::StatusOr<std::shared_ptr<const JobLayout>> Create(
      const proto::JobPlan& plan, std::vector<nn::VariableSpec> variables, uint32_t ps,
      Part part = Part::kOwned);

  uint64_t job_id() const { return plan_.job_id(); }
  Part part() const { return part_; }
  const proto::JobPlan& plan() const { return plan_; }
  const Consistency& consistency() const { return consistency_; }
  // The one that updates the block.
  const nn::Optimizer& optimizer(const BlockSpec& block) const {
    return *rules_.optimizers[block.optimizer];
  }
  // Updates are reduced, their norm is computed, and they are applied in a second step
  // (Block::ApplyUpdate).
  bool clips_update_norms() const { return clips_update_norms_; }
  const std::vector<nn::VariableSpec>& variables() const { return variables_; }

  // The blocks of this part in ascending order of id. A "position" is an index of this vector.
  const std::vector<BlockSpec>& blocks() const { return blocks_; }
  // The number of optimizer slots of a block; 0 if the optimizer does not update it.
  int slot_count(const BlockSpec& block) const;

  // Returns the position of a block id from a request. InvalidArgument: the block does not exist or
  // is on another ps.
  absl::StatusOr<int> Find(uint32_t block_id) const;

 private:
  JobLayout(const proto::JobPlan& plan, std::vector<nn::VariableSpec> variables, uint32_t ps,
            Part part, const Consistency& consistency)
      : plan_(plan),
        ps_(ps),
        part_(part),
        consistency_(consistency),
        clips_update_norms_(job::ClipsUpdateNorms(plan_)),
        variables_(std::move(variables)) {}

  void AddBlocks();

  const proto::JobPlan plan_;
  const uint32_t ps_;
  const Part part_;
  const Consistency consistency_;
  const bool clips_update_norms_;
  const std::vector<nn::VariableSpec> variables_;
  job::VariableRules rules_;
  std::vector<BlockSpec> blocks_;
  absl::flat_hash_map<uint32_t, int> positions_;
};

}  // namespace cairn::parameters

#endif  // CAIRN_PARAMETERS_BLOCKS_JOB_LAYOUT_H_
