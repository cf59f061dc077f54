#ifndef CAIRN_WORKER_STRATEGY_BLOCK_TABLE_H_
#define CAIRN_WORKER_STRATEGY_BLOCK_TABLE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "nn/model.h"
#include "proto/job.pb.h"

namespace cairn::worker {

// A job's partition map as a worker needs it: where in the executor's variables each block lies,
// and which blocks go into one request. Immutable, thread-safe.
class BlockTable {
 public:
  struct Block {
    int variable = 0;
    int64_t offset = 0;  // In the variable, in elements.
    int64_t elements = 0;
    int ps = 0;
    bool pushed = true;
    // In an array of all pushed blocks, one after the other; meaningless for frozen ones.
    int64_t pushed_offset = 0;
  };
  // Blocks of one ps that travel together.
  struct Request {
    int ps = 0;
    std::vector<uint32_t> blocks;
  };

  // A request is complete with this many bytes. As blocks are of 1 MiB at most, none is larger than
  // 2 MiB (but for a single larger row).
  static constexpr int64_t kRequestBytes = int64_t{1} << 20;

  // InvalidArgument: the map is malformed, or not one of this model's variables.
  static absl::StatusOr<BlockTable> Create(const proto::PartitionMap& map, const nn::Model& model);

  const Block& block(uint32_t id) const { return blocks_[id]; }
  int block_count() const { return static_cast<int>(blocks_.size()); }
  // Of one variable, in order.
  absl::Span<const uint32_t> blocks_of(int variable) const { return by_variable_[variable]; }
  int variable_count() const { return static_cast<int>(by_variable_.size()); }
  int ps_count() const { return ps_count_; }
  // Elements of all pushed blocks.
  int64_t pushed_elements() const { return pushed_elements_; }

  // All blocks, or those that are pushed, as requests.
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
