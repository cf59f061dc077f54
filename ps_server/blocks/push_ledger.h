#ifndef CAIRN_PS_SERVER_BLOCKS_PUSH_LEDGER_H_
#define CAIRN_PS_SERVER_BLOCKS_PUSH_LEDGER_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace cairn::proto {
class LedgerState;
}

namespace cairn::ps {

// Which batches a block has settled: all below a low-water mark, and some of the kOpenBatchesMax
// batches from it on, as a bitmap. It is what makes a repeated push count once. A value; costs
// nothing but itself while batches settle in order, at most 8 KiB when they do not.
class PushLedger {
 public:
  // No batch this far above the low-water mark is leased by the coordinator, so none is accepted.
  static constexpr int64_t kOpenBatchesMax = 65536;

  PushLedger() = default;

  // Checks whatever the wire or the disk says. InvalidArgument says what is wrong.
  static absl::StatusOr<PushLedger> FromProto(const proto::LedgerState& state);
  proto::LedgerState ToProto() const;

  // Settles `batch`. True: it was not settled before. OutOfRange: negative, or kOpenBatchesMax or
  // more above the low-water mark; nothing has changed.
  absl::StatusOr<bool> TestAndSet(int64_t batch);

  // What TestAndSet would say, changing nothing.
  absl::StatusOr<bool> Test(int64_t batch) const;

  bool IsSettled(int64_t batch) const;
  bool AllBelowSettled(int64_t batch) const { return batch <= low_water_; }
  // The lowest batch that is not settled.
  int64_t low_water() const { return low_water_; }
  // Settled batches above the low-water mark.
  int64_t open_count() const { return open_count_; }

  // What is settled in both, or in at least one: the reports of a ps over all its blocks.
  static PushLedger Intersection(const PushLedger& a, const PushLedger& b);
  static PushLedger Union(const PushLedger& a, const PushLedger& b);

  friend bool operator==(const PushLedger& a, const PushLedger& b);

 private:
  bool Bit(int64_t batch) const;
  void SetBit(int64_t batch);
  void ClearBit(int64_t batch);
  // Makes room for bits up to low_water_ + bits - 1.
  void Reserve(int64_t bits);
  // Moves the low-water mark over the set bits that begin there, forgetting them.
  void AbsorbSetBits();
  // In ascending order.
  void ForEachOpen(absl::FunctionRef<void(int64_t batch)> visit) const;

  int64_t low_water_ = 0;
  int64_t open_count_ = 0;
  // A ring: the bit of batch b, low_water_ < b < low_water_ + ring bits, is number b modulo the
  // ring's bits, a power of two. All other bits are zero.
  std::vector<uint64_t> ring_;
};

}  // namespace cairn::ps

#endif  // CAIRN_PS_SERVER_BLOCKS_PUSH_LEDGER_H_
