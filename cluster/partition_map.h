#ifndef CAIRN_CLUSTER_PARTITION_MAP_H_
#define CAIRN_CLUSTER_PARTITION_MAP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/job.pb.h"

// Where every row of every variable lives. A variable is sliced over the ps in the "div" layout
// (rows in order; the first dim % n slices have one row more), and each slice is cut into blocks of
// whole rows. Variables are float32; a scalar has one row of one element, a vector rows of one.

namespace cairn::cluster {

// A block has at most this many bytes, unless a single row is larger.
inline constexpr int64_t kBlockBytesMax = int64_t{1} << 20;
// A row has to fit into one message.
inline constexpr int64_t kRowBytesMax = int64_t{64} << 20;
// Of all variables together; beyond it a shape is taken for a mistake.
inline constexpr int64_t kModelBytesMax = int64_t{1} << 40;

// What placing needs to know of a variable. `pushed` false: frozen.
struct VariableExtent {
  std::string name;
  std::vector<int64_t> shape;
  bool pushed = true;
};

// Places variables by bytes, the largest first, each on the least loaded ps; those of at least
// `min_slice_bytes` are sliced over all ps (over as many as they have rows). The same arguments
// give the same map. Blocks stand in the order of `variables`, and of rows within each.
// InvalidArgument: ps_count < 1, a name that is empty or there twice, a dimension < 1, a row or a
// model that is too large.
absl::StatusOr<proto::PartitionMap> PlaceVariables(absl::Span<const VariableExtent> variables,
                                                   int ps_count, int64_t min_slice_bytes);

// The same blocks over `ps_count` >= 1 ps. A block stays where it is unless its ps is not among
// them or has its share already; those that move go, the largest first, to the least loaded. Loads
// differ by no more than one block. The same arguments give the same map; the same number of ps the
// map itself.
proto::PartitionMap MoveBlocks(proto::PartitionMap map, uint32_t ps_count);

// Whether a map that came from outside is one that PlaceVariables could have made: every row of
// every variable in exactly one block, blocks in order and not too large, ps within ps_count.
// The functions below need such a map. InvalidArgument says what is wrong.
absl::Status ValidatePartitionMap(const proto::PartitionMap& map);

// Rows of a variable: its first dimension, 1 for a scalar.
int64_t RowCount(const proto::PartitionMap::Variable& variable);
// Elements in a row: the product of the other dimensions.
int64_t RowElements(const proto::PartitionMap::Variable& variable);
int64_t VariableElements(const proto::PartitionMap::Variable& variable);

// Elements in a block, and how many elements of its variable stand before it.
int64_t BlockElements(const proto::PartitionMap& map, uint32_t block);
int64_t BlockOffset(const proto::PartitionMap& map, uint32_t block);
inline int64_t BlockBytes(const proto::PartitionMap& map, uint32_t block) {
  return BlockElements(map, block) * static_cast<int64_t>(sizeof(float));
}

// Block ids in ascending order.
std::vector<uint32_t> BlocksOfPs(const proto::PartitionMap& map, uint32_t ps);

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_PARTITION_MAP_H_
