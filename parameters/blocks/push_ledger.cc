#include "parameters/blocks/push_ledger.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "job/ledger_state.h"
#include "proto/job.pb.h"

namespace cairn::parameters {

namespace {

constexpr int64_t kWordBits = 64;

// The bits of the batches below `batch` in the word of the batches [64 word, 64 word + 64).
uint64_t BitsBelow(int64_t batch, int64_t word) {
  const int64_t count = batch - word * kWordBits;
  if (count <= 0) return 0;
  return count >= kWordBits ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
}

// Reads a ledger by words of 64 batches: ledgers of 65,536 open batches are compared and combined
// for each block at each cut.
struct Bitmap {
  const std::vector<uint64_t>& ring;
  int64_t low_water = 0;

  int64_t window_end() const { return low_water + static_cast<int64_t>(ring.size()) * kWordBits; }
  // The words that the window touches.
  int64_t first() const { return low_water / kWordBits; }
  int64_t end() const { return (window_end() + kWordBits - 1) / kWordBits; }
  // The applied batches of a word that are in the bitmap.
  uint64_t Above(int64_t word) const {
    if (ring.empty() || word < first() || word >= end()) return 0;
    // The first and the last word of the window may share one in the ring.
    return ring[word & (ring.size() - 1)] & ~BitsBelow(low_water, word) &
           BitsBelow(window_end(), word);
  }
  // All applied batches of a word.
  uint64_t Applied(int64_t word) const { return Above(word) | BitsBelow(low_water, word); }
};

}  // namespace

absl::StatusOr<PushLedger> PushLedger::FromProto(const proto::LedgerState& state) {
  const int64_t low_water = state.low_water();
  if (low_water < 0 || low_water > std::numeric_limits<int64_t>::max() - kOpenBatchesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("a ledger's low-water mark is out of range: ", low_water));
  }
  const std::string& above = state.above();
  if (above.size() > kOpenBatchesMax / 8) {
    return absl::InvalidArgumentError(absl::StrCat("a ledger's bitmap has ", above.size(),
                                                   " bytes, at most ", kOpenBatchesMax / 8,
                                                   " are allowed"));
  }
  if (!above.empty() && (above[0] & 1) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("a ledger's bitmap has the bit of its low-water mark ", low_water, " set"));
  }
  PushLedger ledger;
  ledger.low_water_ = low_water;
  job::ForEachAppliedAbove(state, [&](int64_t batch) { ledger.SetBit(batch); });
  return ledger;
}

proto::LedgerState PushLedger::ToProto() const {
  proto::LedgerState state;
  state.set_low_water(low_water_);
  ForEachOpen([&](int64_t batch) { job::SetApplied(batch, &state); });
  return state;
}

absl::StatusOr<bool> PushLedger::Test(int64_t batch) const {
  if (batch < 0 || batch - low_water_ >= kOpenBatchesMax) {
    return absl::OutOfRangeError(absl::StrCat("batch ", batch, " is not in [0, ",
                                              low_water_ + kOpenBatchesMax,
                                              "): the ledger's low-water mark is ", low_water_));
  }
  return !IsApplied(batch);
}

absl::StatusOr<bool> PushLedger::TestAndSet(int64_t batch) {
  absl::StatusOr<bool> is_new = Test(batch);
  if (!is_new.ok() || !*is_new) return is_new;
  if (batch == low_water_) {
    ++low_water_;
    AdvanceLowWater();
  } else {
    SetBit(batch);
  }
  return true;
}

bool PushLedger::IsApplied(int64_t batch) const { return batch < low_water_ || Bit(batch); }

bool PushLedger::Bit(int64_t batch) const {
  const int64_t ring_bits = static_cast<int64_t>(ring_.size()) * kWordBits;
  if (batch - low_water_ >= ring_bits) return false;
  const int64_t bit = batch & (ring_bits - 1);
  return (ring_[bit / kWordBits] >> (bit % kWordBits)) & 1;
}

void PushLedger::SetBit(int64_t batch) {
  Reserve(batch - low_water_ + 1);
  const int64_t bit = batch & (static_cast<int64_t>(ring_.size()) * kWordBits - 1);
  ring_[bit / kWordBits] |= uint64_t{1} << (bit % kWordBits);
  ++open_count_;
}

void PushLedger::ClearBit(int64_t batch) {
  const int64_t bit = batch & (static_cast<int64_t>(ring_.size()) * kWordBits - 1);
  ring_[bit / kWordBits] &= ~(uint64_t{1} << (bit % kWordBits));
  --open_count_;
}

void PushLedger::Reserve(int64_t bits) {
  const size_t words = std::bit_ceil(static_cast<size_t>((bits + kWordBits - 1) / kWordBits));
  if (words <= ring_.size()) return;
  PushLedger larger;
  larger.low_water_ = low_water_;
  larger.ring_.resize(words);
  ForEachOpen([&](int64_t batch) { larger.SetBit(batch); });
  *this = std::move(larger);
}

void PushLedger::AdvanceLowWater() {
  while (open_count_ > 0 && Bit(low_water_)) {
    ClearBit(low_water_);
    ++low_water_;
  }
}

void PushLedger::ForEachOpen(absl::FunctionRef<void(int64_t batch)> visit) const {
  int64_t left = open_count_;
  // Starts at the low-water mark, whose bit is set during Union.
  for (int64_t batch = low_water_; left > 0; ++batch) {
    if (!Bit(batch)) continue;
    visit(batch);
    --left;
  }
}

PushLedger PushLedger::Intersection(const PushLedger& a, const PushLedger& b) {
  const PushLedger& lower = a.low_water_ <= b.low_water_ ? a : b;
  const PushLedger& higher = a.low_water_ <= b.low_water_ ? b : a;
  PushLedger both;
  both.low_water_ = lower.low_water_;
  if (lower.ring_.empty()) return both;
  both.ring_.resize(lower.ring_.size());
  const Bitmap one = {lower.ring_, lower.low_water_};
  const Bitmap other = {higher.ring_, higher.low_water_};
  for (int64_t word = one.first(); word < one.end(); ++word) {
    const uint64_t bits = one.Above(word) & other.Applied(word);
    both.ring_[word & (both.ring_.size() - 1)] |= bits;
    both.open_count_ += std::popcount(bits);
  }
  return both;
}

PushLedger PushLedger::Union(const PushLedger& a, const PushLedger& b) {
  PushLedger either;
  either.low_water_ = std::max(a.low_water_, b.low_water_);
  const Bitmap one = {a.ring_, a.low_water_};
  const Bitmap other = {b.ring_, b.low_water_};
  const int64_t window_end = std::max(one.window_end(), other.window_end());
  if (window_end <= either.low_water_) return either;
  either.Reserve(window_end - either.low_water_);
  for (int64_t word = either.low_water_ / kWordBits; word * kWordBits < window_end; ++word) {
    const uint64_t bits =
        (one.Applied(word) | other.Applied(word)) & ~BitsBelow(either.low_water_, word);
    either.ring_[word & (either.ring_.size() - 1)] |= bits;
    either.open_count_ += std::popcount(bits);
  }
  either.AdvanceLowWater();
  return either;
}

bool operator==(const PushLedger& a, const PushLedger& b) {
  if (a.low_water_ != b.low_water_ || a.open_count_ != b.open_count_) return false;
  const Bitmap one = {a.ring_, a.low_water_};
  const Bitmap other = {b.ring_, b.low_water_};
  const int64_t end = std::max(one.end(), other.end());
  for (int64_t word = one.first(); word < end; ++word) {
    if (one.Above(word) != other.Above(word)) return false;
  }
  return true;
}

}  // namespace cairn::parameters
