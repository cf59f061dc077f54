#include "cli/view/variables_text.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/view/cluster_text.h"
#include "cluster/partition_map.h"
#include "common/plural.h"
#include "job/partitioner.h"
#include "job/strategy.h"

namespace cairn::cli {
namespace {

using nlohmann::ordered_json;

std::string PlacementText(const proto::Partitioner& partitioner) {
  return partitioner.has_placement() ? partitioner.placement() : "balanced";
}

std::string ShapeOf(const proto::PartitionMap::Variable& variable) {
  return variable.shape().empty() ? "scalar" : absl::StrJoin(variable.shape(), " x ");
}

// The numbers of the blocks of each variable.
std::vector<std::vector<uint32_t>> BlocksByVariable(const proto::PartitionMap& map) {
  std::vector<std::vector<uint32_t>> blocks(map.variables_size());
  for (int i = 0; i < map.blocks_size(); ++i) {
    blocks[map.blocks(i).variable()].push_back(static_cast<uint32_t>(i));
  }
  return blocks;
}

using Row = std::vector<std::string>;

// Columns are as wide as their widest text.
std::string Table(const std::vector<Row>& rows) {
  std::vector<size_t> widths(rows[0].size());
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    text += "  ";
    for (size_t i = 0; i + 1 < row.size(); ++i) {
      absl::StrAppend(&text, row[i], std::string(widths[i] - row[i].size() + 2, ' '));
    }
    absl::StrAppend(&text, row.back(), "\n");
  }
  return text;
}

}  // namespace

std::string VariablesText(const proto::JobPlan& plan) {
  const proto::PartitionMap& map = plan.partition();
  const std::string holder = job::NeedsClusterWithoutPs(plan.job().strategy()) ? "worker" : "ps";
  std::vector<Row> rows = {
      {"VARIABLE", "SHAPE", "ROWS", holder == "ps" ? "PS" : "WORKER", "BYTES"}};
  std::vector<int64_t> bytes_of(map.ps_count());
  std::vector<int64_t> shards_of(map.ps_count());
  const auto by_variable = BlocksByVariable(map);
  for (int i = 0; i < map.variables_size(); ++i) {
    const auto& variable = map.variables(i);
    for (const uint32_t id : by_variable[i]) {
      const auto& block = map.blocks(static_cast<int>(id));
      const int64_t bytes = cluster::BlockBytes(map, id);
      bytes_of[block.ps()] += bytes;
      ++shards_of[block.ps()];
      rows.push_back({absl::StrCat(variable.name(), variable.pushed() ? "" : " (frozen)"),
                      ShapeOf(variable), absl::StrCat(block.row_begin(), ":", block.row_end()),
                      absl::StrCat(block.ps()), BytesText(bytes)});
    }
  }
  std::string text =
      absl::StrCat("  partitioner  ", job::PartitionerText(plan.job().partitioner()),
                   ", placement ", PlacementText(plan.job().partitioner()), "\n", Table(rows));
  for (uint32_t ps = 0; ps < map.ps_count(); ++ps) {
    absl::StrAppend(&text, "  ", holder, " ", ps, " has ", Plural(shards_of[ps], "shard"), ", ",
                    BytesText(bytes_of[ps]), "\n");
  }
  return text;
}

std::vector<ordered_json> VariablesJson(const proto::JobPlan& plan) {
  const proto::PartitionMap& map = plan.partition();
  const auto by_variable = BlocksByVariable(map);
  std::vector<ordered_json> lines;
  for (int i = 0; i < map.variables_size(); ++i) {
    const auto& variable = map.variables(i);
    ordered_json line;
    line["variable"] = variable.name();
    line["shape"] = std::vector<int64_t>(variable.shape().begin(), variable.shape().end());
    line["frozen"] = !variable.pushed();
    line["bytes"] = cluster::VariableElements(variable) * static_cast<int64_t>(sizeof(float));
    line["partitioner"] = job::PartitionerText(plan.job().partitioner());
    line["placement"] = PlacementText(plan.job().partitioner());
    line["shards"] = ordered_json::array();
    for (const uint32_t id : by_variable[i]) {
      const auto& block = map.blocks(static_cast<int>(id));
      ordered_json shard;
      shard["rows"] = {block.row_begin(), block.row_end()};
      shard["ps"] = block.ps();
      shard["bytes"] = cluster::BlockBytes(map, id);
      line["shards"].push_back(std::move(shard));
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace cairn::cli
