#ifndef CAIRN_PARAMETERS_SNAPSHOTS_STORED_BLOCK_H_
#define CAIRN_PARAMETERS_SNAPSHOTS_STORED_BLOCK_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/checkpoint.pb.h"
#include "storage/snapshot_store.h"

namespace cairn::parameters {

// A block in a snapshot, with a header that has been checked against its size.
class StoredBlock {
 public:
  // `id` is for messages. DataLoss: names the block and the inconsistency.
  static absl::StatusOr<StoredBlock> Parse(uint32_t id, storage::BlockRecord record);

  const proto::BlockHeader& header() const { return header_; }
  // The number of elements of the rows, which is the length of the values and of each slot.
  int64_t count() const { return count_; }

  void CopyValues(float* out) const;
  // Copies the values of the trained model: their moving average if the optimizer keeps one.
  void CopyTrainedValues(float* out) const;
  // Copies all slots, one after another: header().slots_size() * count() values.
  void CopySlots(float* out) const;

 private:
  StoredBlock(proto::BlockHeader header, int64_t count, storage::BlockRecord record)
      : header_(std::move(header)), count_(count), record_(std::move(record)) {}

  proto::BlockHeader header_;
  int64_t count_;
  storage::BlockRecord record_;
};

// Returns the number of elements of rows [header.row_begin, header.row_end). InvalidArgument: the
// rows are not in the shape, a dimension is not positive, or there are 2^48 or more elements.
absl::StatusOr<int64_t> CountElements(const proto::BlockHeader& header);

}  // namespace cairn::parameters

#endif  // CAIRN_PARAMETERS_SNAPSHOTS_STORED_BLOCK_H_
