#ifndef CAIRN_WORKER_DATA_PERMUTATION_H_
#define CAIRN_WORKER_DATA_PERMUTATION_H_

#include <cstdint>

namespace cairn::worker {

// A pseudo-random permutation of the integers in [0, size), a pure function of (size, key). It
// takes no memory, and each value takes constant time, so starting an epoch costs nothing.
// Immutable, thread-safe.
//
// A Feistel network of 8 rounds over the smallest power of four that is at least `size` permutes
// that larger set; values that fall outside are permuted again until they fall inside ("cycle
// walking": Black and Rogaway, Ciphers with Arbitrary Finite Domains, 2002), fewer than four times
// on average once size > 64.
class Permutation {
 public:
  // `size` must be positive.
  Permutation(int64_t size, uint64_t key);

  // The value at `index`, 0 <= index < size().
  int64_t At(int64_t index) const;
  // The inverse: the index of `value`, 0 <= value < size().
  int64_t IndexOf(int64_t value) const;
  int64_t size() const { return size_; }

 private:
  uint64_t Encrypt(uint64_t value) const;
  uint64_t Decrypt(uint64_t value) const;
  uint64_t Mixed(uint64_t half, int round) const;

  int64_t size_;
  uint64_t key_;
  int half_bits_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_PERMUTATION_H_
