#ifndef CAIRN_PARAMETERS_BLOCKS_PUSH_LEDGER_H_
#define CAIRN_PARAMETERS_BLOCKS_PUSH_LEDGER_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "job/ledger_state.h"

namespace cairn::proto {
class LedgerState;
}

namespace cairn::parameters {

// Records which batches have been applied to a block, so that a repeated push is applied only once:
// all batches below a low-water mark, and a bitmap of those in the window of kOpenBatchesMax
// batches from there. The bitmap is empty while batches are applied in order, and takes at most 8
// KiB otherwise. Copyable. Not thread-safe.
class PushLedger {
 public:
  // The coordinator does not lease batches that are this far above the low-water mark, so the
  // ledger rejects them.
  static constexpr int64_t kOpenBatchesMax = job::kLedgerBatchesMax;

  PushLedger() = default;
  // A ledger in which exactly the batches below `batch` are applied.
  static PushLedger AllBelow(int64_t batch) {
    PushLedger ledger;
    ledger.low_water_ = batch;
    return ledger;
  }

  // Validates a ledger from a request or a snapshot. InvalidArgument: names the defect.
  static absl::StatusOr<PushLedger> FromProto(const proto::LedgerState& state);
  proto::LedgerState ToProto() const;

  // Marks `batch` as applied. Returns true if it was not applied before. OutOfRange: negative, or
  // at least kOpenBatchesMax above the low-water mark; the ledger is unchanged.
  absl::StatusOr<bool> TestAndSet(int64_t batch);

  // Returns what TestAndSet would return, without a change.
  absl::StatusOr<bool> Test(int64_t batch) const;

  bool IsApplied(int64_t batch) const;
  bool AllBelowApplied(int64_t batch) const { return batch <= low_water_; }
  // The lowest batch that has not been applied.
  int64_t low_water() const { return low_water_; }
  // The number of applied batches above the low-water mark.
  int64_t open_count() const { return open_count_; }

  // The batches applied in both, or in at least one, of the ledgers. A ps reports these over all of
  // its blocks.
  static PushLedger Intersection(const PushLedger& a, const PushLedger& b);
  static PushLedger Union(const PushLedger& a, const PushLedger& b);

  friend bool operator==(const PushLedger& a, const PushLedger& b);

 private:
  bool Bit(int64_t batch) const;
  void SetBit(int64_t batch);
  void ClearBit(int64_t batch);
  // Grows the ring to hold the bits up to low_water_ + bits - 1.
  void Reserve(int64_t bits);
  // Advances the low-water mark over the adjacent set bits and clears them.
  void AdvanceLowWater();
  // Visits batches in ascending order.
  void ForEachOpen(absl::FunctionRef<void(int64_t batch)> visit) const;

  int64_t low_water_ = 0;
  int64_t open_count_ = 0;
  // A ring buffer: the bit of batch b, with low_water_ < b < low_water_ + ring size in bits, is at
  // index b modulo the ring size, which is a power of two. All other bits are 0.
  std::vector<uint64_t> ring_;
};

}  // namespace cairn::parameters

#endif  // CAIRN_PARAMETERS_BLOCKS_PUSH_LEDGER_H_
