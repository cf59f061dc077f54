#ifndef CAIRN_NN_OPTIMIZERS_SQUARE_SUM_H_
#define CAIRN_NN_OPTIMIZERS_SQUARE_SUM_H_

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace cairn::nn {

// The sum of squares of floats, exactly, and so the same bits in whatever order and in however many
// parts they are added: a norm does not depend on how many parameter servers share a variable.
// The square of a float is a whole multiple of 2^-298 below 2^256; the sum of 2^80 of them fits
// into a whole number of 640 bits. A value, of 88 bytes.
class SquareSum {
 public:
  // Adds the squares of `values`; about 1 ns for each. One that is infinite or not a number spoils
  // the sum for good.
  void Add(absl::Span<const float> values);
  void Add(const SquareSum& other);

  // The nearest double, or the one next to it; infinity if the sum is spoilt.
  double value() const;

  // For the wire: the number's 64-bit digits in units of 2^-298, the lowest first, without the
  // zeros on top.
  absl::Span<const uint64_t> words() const;
  bool finite() const { return finite_; }
  // InvalidArgument: more words than a sum can have.
  static absl::StatusOr<SquareSum> FromWords(absl::Span<const uint64_t> words, bool finite);

 private:
  static constexpr int kWords = 10;

  // Adds term * 2^shift units.
  void AddShifted(uint64_t term, int shift);
  void AddAt(int word, uint64_t term);

  std::array<uint64_t, kWords> words_ = {};
  bool finite_ = true;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_OPTIMIZERS_SQUARE_SUM_H_
