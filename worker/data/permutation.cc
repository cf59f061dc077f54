#include "worker/data/permutation.h"

#include <bit>

#include "common/check.h"
#include "common/random.h"

namespace cairn::worker {
namespace {

constexpr int kRounds = 8;
// With shorter halves some orders of a handful of values are noticeably more frequent than others.
constexpr int kHalfBitsMin = 4;

}  // namespace

Permutation::Permutation(int64_t size, uint64_t key) : size_(size), key_(key) {
  CAIRN_CHECK(size > 0);
  const int bits = std::bit_width(static_cast<uint64_t>(size) - 1);
  half_bits_ = bits <= 2 * kHalfBitsMin ? kHalfBitsMin : (bits + 1) / 2;
}

uint64_t Permutation::Encrypt(uint64_t value) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  uint64_t left = value >> half_bits_;
  uint64_t right = value & mask;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t mixed = RandomBits(key_, right * kRounds + round) >> 32;
    const uint64_t next = left ^ (mixed & mask);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

int64_t Permutation::At(int64_t index) const {
  uint64_t value = index;
  do {
    value = Encrypt(value);
  } while (value >= static_cast<uint64_t>(size_));
  return value;
}

}  // namespace cairn::worker
