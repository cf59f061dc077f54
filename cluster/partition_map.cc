#include "cluster/partition_map.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <tuple>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/check.h"
#include "common/status_macros.h"

namespace cairn::cluster {
namespace {

constexpr int64_t kElementBytes = sizeof(float);

// The size of a validated shape.
struct Extent {
  int64_t rows = 1;
  int64_t row_bytes = kElementBytes;
  bool whole = false;
  int64_t bytes() const { return rows * row_bytes; }
};

template <typename Shape>
std::string ShapeText(const Shape& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

// The products cannot overflow, because both limits are far below 2^63 / 2^40.
template <typename Shape>
absl::StatusOr<Extent> ExtentOf(const std::string& name, const Shape& shape) {
  Extent extent;
  for (size_t axis = 0; axis < static_cast<size_t>(shape.size()); ++axis) {
    const int64_t dimension = shape[axis];
    if (dimension < 1) {
      return absl::InvalidArgumentError(absl::StrCat("variable ", name, " has the shape ",
                                                     ShapeText(shape), ": dimension ", axis,
                                                     " must be at least 1"));
    }
    int64_t& product = axis == 0 ? extent.rows : extent.row_bytes;
    const int64_t limit = axis == 0 ? kModelBytesMax / kElementBytes : kRowBytesMax;
    if (dimension > limit / product) {
      return absl::InvalidArgumentError(
          absl::StrCat("variable ", name, " of shape ", ShapeText(shape), " is too large: ",
                       axis == 0 ? "a model may have " : "a row of the first dimension may have ",
                       axis == 0 ? kModelBytesMax : kRowBytesMax, " bytes"));
    }
    product *= dimension;
  }
  return extent;
}

absl::Status TooLarge() {
  return absl::InvalidArgumentError(
      absl::StrCat("the variables together are larger than ", kModelBytesMax, " bytes"));
}

// Checks what ExtentOf cannot: names, and the total size.
template <typename Variables>
absl::StatusOr<std::vector<Extent>> ExtentsOf(const Variables& variables) {
  std::vector<Extent> extents;
  absl::flat_hash_set<std::string> names;
  int64_t bytes_left = kModelBytesMax;
  for (const auto& [name, shape, whole] : variables) {
    if (name.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("variable ", extents.size(), " has an empty name"));
    }
    if (!names.insert(name).second) {
      return absl::InvalidArgumentError(absl::StrCat("two variables are named ", name));
    }
    CAIRN_ASSIGN_OR_RETURN(Extent extent, ExtentOf(name, shape));
    extent.whole = whole;
    if (whole && extent.bytes() > kRowBytesMax) {
      return absl::InvalidArgumentError(absl::StrCat(
          "variable ", name, " of shape ", ShapeText(shape), " has ", extent.bytes(),
          " bytes, but its constraint or the optimizer needs all rows in one block, which may "
          "have ",
          kRowBytesMax,
          "; use a smaller layer, a constraint of other axes than 0, or another optimizer"));
    }
    if (extent.rows > bytes_left / extent.row_bytes) return TooLarge();
    bytes_left -= extent.bytes();
    extents.push_back(extent);
  }
  return extents;
}

// Returns indices by descending size; equal sizes keep their order.
std::vector<size_t> LargestFirst(const std::vector<Extent>& extents) {
  std::vector<size_t> order(extents.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t left, size_t right) {
    return extents[left].bytes() > extents[right].bytes();
  });
  return order;
}

// Returns ps by ascending load; equal loads keep their order.
std::vector<uint32_t> LeastLoadedFirst(const std::vector<int64_t>& load) {
  std::vector<uint32_t> order(load.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t left, uint32_t right) { return load[left] < load[right]; });
  return order;
}

// The rows of shard `index` of `count`.
int64_t RowsOfShard(const Extent& extent, int64_t count, int64_t index) {
  return extent.rows / count + (index < extent.rows % count ? 1 : 0);
}

// Returns the ps of each shard of a variable, in the order of rows. The first shards have one row
// more, so they go to the least loaded ps.
std::vector<uint32_t> PlaceBalanced(const Extent& extent, int64_t shards,
                                    std::vector<int64_t>* load) {
  std::vector<uint32_t> placed;
  while (static_cast<int64_t>(placed.size()) < shards) {
    for (const uint32_t ps : LeastLoadedFirst(*load)) {
      const auto shard = static_cast<int64_t>(placed.size());
      if (shard == shards) break;
      (*load)[ps] += RowsOfShard(extent, shards, shard) * extent.row_bytes;
      placed.push_back(ps);
    }
  }
  return placed;
}

// Divides rows [begin, end) of a shard into blocks.
void AddBlocks(uint32_t variable, const Extent& extent, int64_t begin, int64_t end, uint32_t ps,
               proto::PartitionMap* map) {
  const int64_t rows_max =
      extent.whole ? extent.rows : std::max<int64_t>(1, kBlockBytesMax / extent.row_bytes);
  for (int64_t row = begin; row < end; row += rows_max) {
    proto::PartitionMap::Block* block = map->add_blocks();
    block->set_variable(variable);
    block->set_row_begin(row);
    block->set_row_end(std::min(end, row + rows_max));
    block->set_ps(ps);
  }
}

void AddVariable(const VariableExtent& variable, const Extent& extent,
                 const std::vector<uint32_t>& shards, proto::PartitionMap* map) {
  const uint32_t index = map->variables_size();
  proto::PartitionMap::Variable* added = map->add_variables();
  added->set_name(variable.name);
  added->mutable_shape()->Assign(variable.shape.begin(), variable.shape.end());
  added->set_pushed(variable.pushed);
  added->set_whole(variable.whole);
  const auto count = static_cast<int64_t>(shards.size());
  int64_t row = 0;
  for (int64_t shard = 0; shard < count; ++shard) {
    const int64_t rows = RowsOfShard(extent, count, shard);
    AddBlocks(index, extent, row, row + rows, shards[shard], map);
    row += rows;
  }
}

absl::Status CheckPsCount(int64_t ps_count) {
  if (ps_count >= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a partition map for ", ps_count, " ps; there must be at least 1"));
}

// Checks that the block consists of the next rows of its variable.
absl::Status CheckBlock(const proto::PartitionMap& map, int index, uint32_t variable, int64_t row,
                        const Extent& extent) {
  const proto::PartitionMap::Block& block = map.blocks(index);
  if (block.variable() != variable || block.row_begin() != row ||
      block.row_end() <= block.row_begin() || block.row_end() > extent.rows) {
    return absl::InvalidArgumentError(absl::StrCat(
        "block ", index, " of the partition map has rows [", block.row_begin(), ", ",
        block.row_end(), ") of variable ", block.variable(), ", expected rows from ", row, " (of ",
        extent.rows, ") of variable ", variable, " (", map.variables(variable).name(), ")"));
  }
  if (block.ps() >= map.ps_count()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "block ", index, " of the partition map is on ps ", block.ps(), " of ", map.ps_count()));
  }
  const int64_t rows = block.row_end() - block.row_begin();
  if (extent.whole && rows != extent.rows) {
    return absl::InvalidArgumentError(
        absl::StrCat("block ", index, " of the partition map has ", rows, " rows of variable ",
                     map.variables(variable).name(), ", which must be in one block"));
  }
  if (rows > 1 && rows * extent.row_bytes > kBlockBytesMax && !extent.whole) {
    return absl::InvalidArgumentError(absl::StrCat("block ", index, " of the partition map has ",
                                                   rows * extent.row_bytes, " bytes, more than ",
                                                   kBlockBytesMax));
  }
  return absl::OkStatus();
}

absl::Status CheckAbsent(const proto::PartitionMap& map) {
  for (const uint32_t absent : map.absent()) {
    if (absent >= map.ps_count()) {
      return absl::InvalidArgumentError(absl::StrCat("the partition map has an absent ps ", absent,
                                                     ", but only ", map.ps_count(), " ps"));
    }
    for (const proto::PartitionMap::Block& block : map.blocks()) {
      if (block.ps() != absent) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("the partition map has a block on ps ", absent, ", which is absent"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<proto::PartitionMap> PlaceVariables(absl::Span<const VariableExtent> variables,
                                                   int ps_count, Placement placement) {
  CAIRN_RETURN_IF_ERROR(CheckPsCount(ps_count));
  std::vector<std::tuple<std::string, absl::Span<const int64_t>, bool>> shapes;
  for (const VariableExtent& variable : variables) {
    shapes.emplace_back(variable.name, variable.shape, variable.whole);
  }
  CAIRN_ASSIGN_OR_RETURN(const std::vector<Extent> extents, ExtentsOf(shapes));
  std::vector<int64_t> shards;
  for (size_t variable = 0; variable < variables.size(); ++variable) {
    const int64_t most = extents[variable].whole ? 1 : extents[variable].rows;
    shards.push_back(std::clamp<int64_t>(variables[variable].shards, 1, most));
    if (shards.back() <= kShardsMax) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the partitioner divides variable ", variables[variable].name, " into ",
                     shards.back(), " shards; a variable may have ", kShardsMax));
  }

  std::vector<std::vector<uint32_t>> ps_of_shards(variables.size());
  if (placement == Placement::kBalanced) {
    std::vector<int64_t> load(ps_count, 0);
    for (const size_t variable : LargestFirst(extents)) {
      ps_of_shards[variable] = PlaceBalanced(extents[variable], shards[variable], &load);
    }
  } else {
    uint32_t next = 0;
    for (size_t variable = 0; variable < variables.size(); ++variable) {
      for (int64_t shard = 0; shard < shards[variable]; ++shard) {
        ps_of_shards[variable].push_back(next++ % static_cast<uint32_t>(ps_count));
      }
    }
  }
  proto::PartitionMap map;
  map.set_ps_count(ps_count);
  for (size_t variable = 0; variable < variables.size(); ++variable) {
    AddVariable(variables[variable], extents[variable], ps_of_shards[variable], &map);
  }
  return map;
}

proto::PartitionMap RebalanceBlocks(proto::PartitionMap map, uint32_t ps_count) {
  CAIRN_CHECK(ps_count >= 1);
  if (map.ps_count() == ps_count && map.absent().empty()) return map;
  map.set_ps_count(ps_count);
  map.clear_absent();
  int64_t total = 0;
  for (int block = 0; block < map.blocks_size(); ++block) total += BlockBytes(map, block);
  const int64_t share = total / ps_count;
  std::vector<int64_t> load(ps_count, 0);
  std::vector<uint32_t> moving;
  for (int block = 0; block < map.blocks_size(); ++block) {
    const uint32_t ps = map.blocks(block).ps();
    const int64_t bytes = BlockBytes(map, block);
    if (ps < ps_count && load[ps] + bytes <= share) {
      load[ps] += bytes;
    } else {
      moving.push_back(block);
    }
  }
  std::stable_sort(moving.begin(), moving.end(), [&](uint32_t left, uint32_t right) {
    return BlockBytes(map, left) > BlockBytes(map, right);
  });
  for (const uint32_t block : moving) {
    const auto least = std::min_element(load.begin(), load.end());
    *least += BlockBytes(map, block);
    map.mutable_blocks(block)->set_ps(static_cast<uint32_t>(least - load.begin()));
  }
  return map;
}

std::vector<uint32_t> MembersOf(const proto::PartitionMap& map) {
  const bool all = static_cast<uint32_t>(map.blocks_size()) < map.ps_count();
  std::vector<bool> has_blocks(map.ps_count(), all);
  for (const proto::PartitionMap::Block& block : map.blocks()) has_blocks[block.ps()] = true;
  for (const uint32_t ps : map.absent()) has_blocks[ps] = false;
  std::vector<uint32_t> members;
  for (uint32_t ps = 0; ps < map.ps_count(); ++ps) {
    if (has_blocks[ps]) members.push_back(ps);
  }
  return members;
}

proto::PartitionMap MoveBlocksFrom(const std::set<uint32_t>& absent, proto::PartitionMap map) {
  if (absent.empty()) return map;
  std::vector<uint32_t> members = MembersOf(map);
  std::erase_if(members, [&](uint32_t ps) { return absent.contains(ps); });
  CAIRN_CHECK(!members.empty());
  std::vector<int64_t> load(map.ps_count(), 0);
  std::vector<uint32_t> moving;
  for (int block = 0; block < map.blocks_size(); ++block) {
    const uint32_t ps = map.blocks(block).ps();
    if (absent.contains(ps)) {
      moving.push_back(block);
    } else {
      load[ps] += BlockBytes(map, block);
    }
  }
  std::stable_sort(moving.begin(), moving.end(), [&](uint32_t left, uint32_t right) {
    return BlockBytes(map, left) > BlockBytes(map, right);
  });
  for (const uint32_t block : moving) {
    const uint32_t least =
        *std::min_element(members.begin(), members.end(),
                          [&](uint32_t left, uint32_t right) { return load[left] < load[right]; });
    load[least] += BlockBytes(map, block);
    map.mutable_blocks(block)->set_ps(least);
  }
  map.mutable_absent()->Assign(absent.begin(), absent.end());
  return map;
}

absl::Status ValidatePartitionMap(const proto::PartitionMap& map) {
  CAIRN_RETURN_IF_ERROR(CheckPsCount(map.ps_count()));
  CAIRN_RETURN_IF_ERROR(CheckAbsent(map));
  std::vector<std::tuple<std::string, absl::Span<const int64_t>, bool>> shapes;
  for (const proto::PartitionMap::Variable& variable : map.variables()) {
    shapes.emplace_back(variable.name(), variable.shape(), variable.whole());
  }
  CAIRN_ASSIGN_OR_RETURN(const std::vector<Extent> extents, ExtentsOf(shapes));

  int index = 0;
  for (uint32_t variable = 0; variable < extents.size(); ++variable) {
    int64_t row = 0;
    while (row < extents[variable].rows) {
      if (index == map.blocks_size()) {
        return absl::InvalidArgumentError(absl::StrCat("the partition map has no block for row ",
                                                       row, " of variable ",
                                                       map.variables(variable).name()));
      }
      CAIRN_RETURN_IF_ERROR(CheckBlock(map, index, variable, row, extents[variable]));
      row = map.blocks(index++).row_end();
    }
  }
  if (index == map.blocks_size()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the partition map has ", map.blocks_size(),
                                                 " blocks, but ", index, " cover all variables"));
}

int64_t RowCount(const proto::PartitionMap::Variable& variable) {
  return variable.shape_size() == 0 ? 1 : variable.shape(0);
}

int64_t RowElements(const proto::PartitionMap::Variable& variable) {
  int64_t elements = 1;
  for (int axis = 1; axis < variable.shape_size(); ++axis) elements *= variable.shape(axis);
  return elements;
}

int64_t VariableElements(const proto::PartitionMap::Variable& variable) {
  return RowCount(variable) * RowElements(variable);
}

int64_t BlockElements(const proto::PartitionMap& map, uint32_t block) {
  const proto::PartitionMap::Block& found = map.blocks(block);
  return (found.row_end() - found.row_begin()) * RowElements(map.variables(found.variable()));
}

int64_t BlockOffset(const proto::PartitionMap& map, uint32_t block) {
  const proto::PartitionMap::Block& found = map.blocks(block);
  return found.row_begin() * RowElements(map.variables(found.variable()));
}

std::vector<uint32_t> BlocksOfPs(const proto::PartitionMap& map, uint32_t ps) {
  std::vector<uint32_t> blocks;
  for (int block = 0; block < map.blocks_size(); ++block) {
    if (map.blocks(block).ps() == ps) blocks.push_back(block);
  }
  return blocks;
}

}  // namespace cairn::cluster
