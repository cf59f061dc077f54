#ifndef CAIRN_WORKER_STRATEGY_BLOCK_TABLE_H_
#define CAIRN_WORKER_STRATEGY_BLOCK_TABLE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "nn/model.h"
#include "proto/job.pb.h"

namespace cairn::worker {

// A worker's view of a job's partition map: the position of each block in the executor's variables,
// and the blocks that form one request. Immutable, thread-safe. Offsets and sizes are in elements
// (float32) unless stated otherwise.
class BlockTable {
 public:
  struct Block {
    int variable = 0;
    int64_t offset = 0;  // In the variable, in elements.
    int64_t elements = 0;
    int ps = 0;
    bool pushed = true;  // False: the variable is frozen.
    // In the concatenation of all pushed blocks. Unspecified for frozen blocks.
    int64_t pushed_offset = 0;
  };
  // Blocks of one ps that are transferred in one request.
  struct Request {
    int ps = 0;
    std::vector<uint32_t> blocks;
  };

  // A request takes no further block once it has this many bytes. As a block has at most 1 MiB, a
  // request has at most 2 MiB, unless a single row is larger.
  static constexpr int64_t kRequestBytes = int64_t{1} << 20;

  // InvalidArgument: the map is malformed, or does not match the model's variables.
  static absl::StatusOr<BlockTable> Create(const proto::PartitionMap& map, const nn::Model& model);

  const Block& block(uint32_t id) const { return blocks_[id]; }
  int block_count() const { return static_cast<int>(blocks_.size()); }
  // The blocks of one variable, by ascending offset.
  absl::Span<const uint32_t> blocks_of(int variable) const { return by_variable_[variable]; }
  int variable_count() const { return static_cast<int>(by_variable_.size()); }
  int ps_count() const { return ps_count_; }
  // The number of elements in all pushed blocks.
  int64_t pushed_elements() const { return pushed_elements_; }

  // Requests for all blocks, and for all pushed blocks.
  const std::vector<Request>& all() const { return all_; }
  const std::vector<Request>& pushed() const { return pushed_; }

 private:
  BlockTable() = default;
  std::vector<Request> MakeRequests(bool frozen_too) const;

  int ps_count_ = 0;
  int64_t pushed_elements_ = 0;
  std::vector<Block> blocks_;
  std::vector<std::vector<uint32_t>> by_variable_;
  std::vector<Request> all_;
  std::vector<Request> pushed_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_STRATEGY_BLOCK_TABLE_H_
