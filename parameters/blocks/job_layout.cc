#include "parameters/blocks/job_layout.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cluster/partition_map.h"
#include "common/status_macros.h"

namespace cairn::parameters {

namespace {

using Update = nn::VariableSpec::Update;

// The partition map has the model's variables in the model's order.
absl::Status CheckVariable(const nn::VariableSpec& variable,
                           const proto::PartitionMap::Variable& placed) {
  if (variable.name != placed.name()) {
    return absl::InvalidArgumentError(absl::StrCat("the partition map has variable ", placed.name(),
                                                   " where the model has ", variable.name));
  }
  const std::vector<int64_t> shape(placed.shape().begin(), placed.shape().end());
  if (variable.shape != shape) {
    return absl::InvalidArgumentError(absl::StrCat(
        "variable ", variable.name, " has shape (", absl::StrJoin(shape, ", "),
        ") in the partition map, expected (", absl::StrJoin(variable.shape, ", "), ")"));
  }
  if (placed.pushed() != (variable.update != Update::kFrozen)) {
    return absl::InvalidArgumentError(absl::StrCat("variable ", variable.name, " is ",
                                                   placed.pushed() ? "pushed" : "frozen",
                                                   " in the partition map, but not in the model"));
  }
  return absl::OkStatus();
}

// Updates that use norms of a variable need all of its rows in one block.
absl::Status CheckWhole(const nn::VariableSpec& variable, const nn::Optimizer& optimizer,
                        const proto::PartitionMap::Variable& placed) {
  const bool needs_all_rows =
      variable.constraint.needs_all_rows() || optimizer.needs_whole_variables();
  if (placed.whole() || !needs_all_rows || variable.update != Update::kOptimized) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "variable ", variable.name,
      " is divided in the partition map, but its constraint or the optimizer needs all rows"));
}

absl::Status CheckVariables(const std::vector<nn::VariableSpec>& variables,
                            const proto::PartitionMap& map) {
  if (variables.size() != static_cast<size_t>(map.variables_size())) {
    return absl::InvalidArgumentError(absl::StrCat("the partition map has ", map.variables_size(),
                                                   " variables, the model ", variables.size()));
  }
  for (int i = 0; i < map.variables_size(); ++i) {
    CAIRN_RETURN_IF_ERROR(CheckVariable(variables[i], map.variables(i)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const JobLayout>> JobLayout::Create(
    const proto::JobPlan& plan, std::vector<nn::VariableSpec> variables, uint32_t ps, Part part) {
  CAIRN_ASSIGN_OR_RETURN(const Consistency consistency, Consistency::Create(plan));
  CAIRN_RETURN_IF_ERROR(cluster::ValidatePartitionMap(plan.partition()));
  CAIRN_RETURN_IF_ERROR(CheckVariables(variables, plan.partition()));
  if (ps >= plan.partition().ps_count()) {
    return absl::InvalidArgumentError(absl::StrCat("the plan is for ", plan.partition().ps_count(),
                                                   " parameter servers, this is ps ", ps));
  }
  if (plan.batch_size() < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the plan's batch_size is ", plan.batch_size(), ", but must be at least 1"));
  }
  std::shared_ptr<JobLayout> layout(
      new JobLayout(plan, std::move(variables), ps, part, consistency));
  CAIRN_ASSIGN_OR_RETURN(layout->rules_,
                         job::VariableRules::Create(plan.job(), plan.model(), layout->variables_));
  for (size_t i = 0; i < layout->variables_.size(); ++i) {
    const int rule = layout->rules_.optimizer_of[i];
    CAIRN_RETURN_IF_ERROR(CheckWhole(layout->variables_[i], *layout->rules_.optimizers[rule],
                                     plan.partition().variables(static_cast<int>(i))));
  }
  layout->AddBlocks();
  return std::shared_ptr<const JobLayout>(std::move(layout));
}

void JobLayout::AddBlocks() {
  const proto::PartitionMap& map = plan_.partition();
  for (uint32_t id = 0; id < static_cast<uint32_t>(map.blocks_size()); ++id) {
    const proto::PartitionMap::Block& placed = map.blocks(static_cast<int>(id));
    if ((placed.ps() == ps_) != (part_ == Part::kOwned)) continue;
    const nn::VariableSpec& variable = variables_[placed.variable()];
    BlockSpec block;
    block.id = id;
    block.variable = placed.variable();
    block.row_begin = placed.row_begin();
    block.row_end = placed.row_end();
    block.name = absl::StrCat("block ", id, " (", variable.name, " rows ", block.row_begin, " to ",
                              block.row_end - 1, ")");
    block.begin = cluster::BlockOffset(map, id);
    block.count = cluster::BlockElements(map, id);
    block.update = variable.update;
    block.momentum = rules_.momentums[placed.variable()];
    block.optimizer = rules_.optimizer_of[placed.variable()];
    positions_[id] = static_cast<int>(blocks_.size());
    blocks_.push_back(std::move(block));
  }
}

int JobLayout::slot_count(const BlockSpec& block) const {
  return block.update == Update::kOptimized ? optimizer(block).slot_count() : 0;
}

absl::StatusOr<int> JobLayout::Find(uint32_t block_id) const {
  const auto found = positions_.find(block_id);
  if (found != positions_.end()) return found->second;
  const proto::PartitionMap& map = plan_.partition();
  if (block_id >= static_cast<uint32_t>(map.blocks_size())) {
    return absl::InvalidArgumentError(absl::StrCat("block ", block_id, " does not exist: job ",
                                                   job_id(), " has ", map.blocks_size(),
                                                   " blocks"));
  }
  if (part_ == Part::kReplicas) {
    return absl::InvalidArgumentError(absl::StrCat("block ", block_id, " of job ", job_id(),
                                                   " has no replica on ps ", ps_,
                                                   ", which owns it"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("block ", block_id, " of job ", job_id(), " is on ps ",
                   map.blocks(static_cast<int>(block_id)).ps(), ", not on ps ", ps_));
}

}  // namespace cairn::parameters
