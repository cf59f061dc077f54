#ifndef CAIRN_NN_OPTIMIZERS_SQUARE_SUM_H_
#define CAIRN_NN_OPTIMIZERS_SQUARE_SUM_H_

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace cairn::nn {

// An exact sum of squares of floats. The result does not depend on the order of additions or on how
// the values are partitioned, so a norm does not depend on how many parameter servers share a
// variable. The square of a float is a multiple of 2^-298 below 2^256; the sum of 2^80 squares fits
// a 640-bit integer. A value type of 88 bytes.
class SquareSum {
 public:
  // Adds the squares of `values`; about 1 ns per value. An infinite value or NaN makes the sum
  // non-finite for good.
  void Add(absl::Span<const float> values);
  void Add(const SquareSum& other);

  // The sum, at most one double away from the nearest one; infinity if it is not finite.
  double value() const;

  // The serialized sum: 64-bit words in units of 2^-298, lowest first, without leading zero words.
  absl::Span<const uint64_t> words() const;
  bool finite() const { return finite_; }
  // Deserializes a sum. INVALID_ARGUMENT if there are too many words.
  static absl::StatusOr<SquareSum> FromWords(absl::Span<const uint64_t> words, bool finite);

 private:
  static constexpr int kWords = 10;

  // Adds term * 2^shift, in units of 2^-298.
  void AddShifted(uint64_t term, int shift);
  // Adds `term` to a word and propagates the carry.
  void AddAt(int word, uint64_t term);

  std::array<uint64_t, kWords> words_ = {};
  bool finite_ = true;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_OPTIMIZERS_SQUARE_SUM_H_
