#ifndef CAIRN_CLUSTER_PARTITION_MAP_H_
#define CAIRN_CLUSTER_PARTITION_MAP_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/job.pb.h"

// The assignment of variables to parameter servers. A variable is divided into shards with
// TensorFlow's "div" strategy: rows stay in order, and with n shards the first (rows % n) have one
// row more. Each shard is divided into blocks of whole rows. Variables are float32. A scalar has
// one row of one element; a vector has rows of one element.

namespace cairn::cluster {

// The maximum size of a block, unless a single row is larger or the variable is whole.
inline constexpr int64_t kBlockBytesMax = int64_t{1} << 20;
// The maximum size of a row or a whole variable, which must fit into one message.
inline constexpr int64_t kRowBytesMax = int64_t{64} << 20;
// The maximum size of all variables. A larger shape is probably a mistake.
inline constexpr int64_t kModelBytesMax = int64_t{1} << 40;

// The maximum number of shards of a variable.
inline constexpr int64_t kShardsMax = 65536;

// A variable to be placed. `pushed` is false if it is frozen. `whole` keeps all rows in one block
// of at most kRowBytesMax.
struct VariableExtent {
  std::string name;
  std::vector<int64_t> shape;
  bool pushed = true;
  int64_t shards = 1;  // At least 1; at most one for each row is made.
  bool whole = false;
};

enum class Placement {
  // Variables are placed largest first, and each shard goes to the ps with the least bytes. Of one
  // variable, a ps gets a second shard only when all others have one.
  kBalanced,
  // Shards go to one ps after the other, in the order of `variables` and of rows.
  kRoundRobin,
};

// Assigns shards of variables to ps. Deterministic. Blocks are in the order of `variables`, and
// within a variable in the order of rows. InvalidArgument: ps_count < 1, an empty or duplicate
// name, a dimension < 1, a row, whole variable or model that is too large, or too many
// shards.
absl::StatusOr<proto::PartitionMap> PlaceVariables(absl::Span<const VariableExtent> variables,
                                                   int ps_count, Placement placement);

// Assigns the same blocks to `ps_count` >= 1 ps. Moves as few blocks as possible: a block moves
// only if its ps no longer exists or already has its share. Moved blocks go, largest first, to the
// ps with the least bytes. The resulting loads differ by at most one block, and no ps is absent.
// Deterministic; returns `map` unchanged if the number of ps is the same and none is absent.
proto::PartitionMap RebalanceBlocks(proto::PartitionMap map, uint32_t ps_count);

// The ps that take part in a job: those that have blocks, ascending. With fewer blocks than ps, all
// that are not absent take part.
std::vector<uint32_t> MembersOf(const proto::PartitionMap& map);

// Moves the blocks of the ps in `absent`, largest first, to the other members, each to the one with
// the least bytes. Deterministic. Requires that there are other members.
proto::PartitionMap MoveBlocksFrom(const std::set<uint32_t>& absent, proto::PartitionMap map);

// Checks a map from an untrusted source: every row of every variable is in exactly one block,
// blocks are in order and not too large, and ps are less than ps_count. The functions below require
// a valid map. InvalidArgument: the message names the defect.
absl::Status ValidatePartitionMap(const proto::PartitionMap& map);

// The number of rows: the first dimension, or 1 for a scalar.
int64_t RowCount(const proto::PartitionMap::Variable& variable);
// The number of elements of a row: the product of the other dimensions.
int64_t RowElements(const proto::PartitionMap::Variable& variable);
int64_t VariableElements(const proto::PartitionMap::Variable& variable);

// The number of elements of a block, and the number of elements of its variable before the block.
int64_t BlockElements(const proto::PartitionMap& map, uint32_t block);
int64_t BlockOffset(const proto::PartitionMap& map, uint32_t block);
inline int64_t BlockBytes(const proto::PartitionMap& map, uint32_t block) {
  return BlockElements(map, block) * static_cast<int64_t>(sizeof(float));
}

// The ids of the blocks of a ps, in ascending order.
std::vector<uint32_t> BlocksOfPs(const proto::PartitionMap& map, uint32_t ps);

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_PARTITION_MAP_H_
