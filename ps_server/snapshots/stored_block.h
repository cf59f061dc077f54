#ifndef CAIRN_PS_SERVER_SNAPSHOTS_STORED_BLOCK_H_
#define CAIRN_PS_SERVER_SNAPSHOTS_STORED_BLOCK_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/checkpoint.pb.h"
#include "storage/snapshot_store.h"

namespace cairn::ps {

// One block as a snapshot holds it: its header, checked against its bytes.
class StoredBlock {
 public:
  // DataLoss names the block and says what of it contradicts the rest. `id` is for messages.
  static absl::StatusOr<StoredBlock> Parse(uint32_t id, storage::BlockRecord record);

  const proto::BlockHeader& header() const { return header_; }
  // Values, and of each slot: the elements of its rows.
  int64_t count() const { return count_; }

  void CopyValues(float* out) const;
  // The values for those who use the trained model: their average, if the optimizer keeps one.
  void CopyTrainedValues(float* out) const;
  // All slots, one after the other: header().slots_size() * count() values.
  void CopySlots(float* out) const;

 private:
  StoredBlock(proto::BlockHeader header, int64_t count, storage::BlockRecord record)
      : header_(std::move(header)), count_(count), record_(std::move(record)) {}

  proto::BlockHeader header_;
  int64_t count_;
  storage::BlockRecord record_;
};

// The elements of rows [header.row_begin, row_end). InvalidArgument: the rows are not in the shape,
// or a dimension is not positive, or the number is absurd (2^48 and more).
absl::StatusOr<int64_t> CountElements(const proto::BlockHeader& header);

}  // namespace cairn::ps

#endif  // CAIRN_PS_SERVER_SNAPSHOTS_STORED_BLOCK_H_
