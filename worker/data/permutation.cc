#include "worker/data/permutation.h"

#include <bit>

#include "common/check.h"
#include "common/random.h"

namespace cairn::worker {
namespace {

constexpr int kRounds = 8;
// With shorter halves, some permutations of a few values are noticeably more frequent than others.
constexpr int kHalfBitsMin = 4;

}  // namespace

Permutation::Permutation(int64_t size, uint64_t key) : size_(size), key_(key) {
  CAIRN_CHECK(size > 0);
  const int bits = std::bit_width(static_cast<uint64_t>(size) - 1);
  half_bits_ = bits <= 2 * kHalfBitsMin ? kHalfBitsMin : (bits + 1) / 2;
}

// The round function, truncated to the size of a half.
uint64_t Permutation::Mixed(uint64_t half, int round) const {
  return RandomBits(key_, half * kRounds + round) >> 32 & ((uint64_t{1} << half_bits_) - 1);
}

uint64_t Permutation::Encrypt(uint64_t value) const {
  uint64_t left = value >> half_bits_;
  uint64_t right = value & ((uint64_t{1} << half_bits_) - 1);
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t next = left ^ Mixed(right, round);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

uint64_t Permutation::Decrypt(uint64_t value) const {
  uint64_t left = value >> half_bits_;
  uint64_t right = value & ((uint64_t{1} << half_bits_) - 1);
  for (int round = kRounds - 1; round >= 0; --round) {
    const uint64_t before = right ^ Mixed(left, round);
    right = left;
    left = before;
  }
  return left << half_bits_ | right;
}

// Cycle walking: Encrypt permutes a larger set, so values outside [0, size) are encrypted again.
// The cycle of `index` contains `index` itself, so the loop ends.
int64_t Permutation::At(int64_t index) const {
  uint64_t value = index;
  do {
    value = Encrypt(value);
  } while (value >= static_cast<uint64_t>(size_));
  return value;
}

int64_t Permutation::IndexOf(int64_t value) const {
  uint64_t index = value;
  do {
    index = Decrypt(index);
  } while (index >= static_cast<uint64_t>(size_));
  return index;
}

}  // namespace cairn::worker
