#include "worker/strategy/block_table.h"

#include "absl/strings/str_cat.h"
#include "cluster/partition_map.h"
#include "common/status_macros.h"

namespace cairn::worker {
namespace {

absl::Status CheckVariables(const proto::PartitionMap& map, const nn::Model& model) {
  const auto& specs = model.variables();
  bool same = static_cast<size_t>(map.variables_size()) == specs.size();
  for (size_t i = 0; same && i < specs.size(); ++i) {
    const auto& variable = map.variables(static_cast<int>(i));
    const nn::Shape shape(variable.shape().begin(), variable.shape().end());
    const bool frozen = specs[i].update == nn::VariableSpec::Update::kFrozen;
    same =
        variable.name() == specs[i].name && shape == specs[i].shape && variable.pushed() != frozen;
  }
  if (same) return absl::OkStatus();
  return absl::InvalidArgumentError("the partition map does not hold this model's variables");
}

}  // namespace

absl::StatusOr<BlockTable> BlockTable::Create(const proto::PartitionMap& map,
                                              const nn::Model& model) {
  CAIRN_RETURN_IF_ERROR(cluster::ValidatePartitionMap(map));
  CAIRN_RETURN_IF_ERROR(CheckVariables(map, model));
  BlockTable table;
  table.ps_count_ = static_cast<int>(map.ps_count());
  table.by_variable_.resize(map.variables_size());
  for (int id = 0; id < map.blocks_size(); ++id) {
    const proto::PartitionMap::Block& from = map.blocks(id);
    Block& block = table.blocks_.emplace_back();
    block.variable = static_cast<int>(from.variable());
    block.offset = cluster::BlockOffset(map, id);
    block.elements = cluster::BlockElements(map, id);
    block.ps = static_cast<int>(from.ps());
    block.pushed = map.variables(block.variable).pushed();
    block.pushed_offset = table.pushed_elements_;
    if (block.pushed) table.pushed_elements_ += block.elements;
    table.by_variable_[block.variable].push_back(id);
  }
  table.all_ = table.MakeRequests(true);
  table.pushed_ = table.MakeRequests(false);
  return table;
}

// Blocks are grouped in the order of their ids. All workers make the same requests.
std::vector<BlockTable::Request> BlockTable::MakeRequests(bool frozen_too) const {
  std::vector<Request> requests;
  for (int ps = 0; ps < ps_count_; ++ps) {
    int64_t bytes = kRequestBytes;
    for (int id = 0; id < block_count(); ++id) {
      const Block& block = blocks_[id];
      if (block.ps != ps || !(block.pushed || frozen_too)) continue;
      if (bytes >= kRequestBytes) {
        requests.push_back({ps, {}});
        bytes = 0;
      }
      requests.back().blocks.push_back(id);
      bytes += block.elements * static_cast<int64_t>(sizeof(float));
    }
  }
  return requests;
}

}  // namespace cairn::worker
