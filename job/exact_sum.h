#ifndef CAIRN_JOB_EXACT_SUM_H_
#define CAIRN_JOB_EXACT_SUM_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/job.pb.h"

namespace cairn::job {

// A sum of numbers without rounding, so it is the same in any order, and however the numbers are
// divided among workers. It is a whole number of many digits times a power of two (Kulisch,
// Computer Arithmetic and Validity, chapter 8). Takes the memory of the digits that are used: about
// 100 bytes for numbers of similar sizes. Not thread-safe.
class ExactSum {
 public:
  ExactSum() = default;
  // InvalidArgument: it is no sum of at most 2^63 numbers.
  static absl::StatusOr<ExactSum> Create(const proto::ExactSum& sum);

  // `value` must be finite.
  void Add(double value);
  void Add(const ExactSum& other);

  // The same for equal sums.
  proto::ExactSum ToProto() const;

  // The sum divided by `count`, rounded to a double; `count` is positive.
  double Mean(int64_t count) const;
  // The population standard deviation of `count` numbers with this sum whose squares have the sum
  // `squares`: sqrt(count squares - sum^2) / count. The difference is computed without rounding.
  double Deviation(const ExactSum& squares, int64_t count) const;

 private:
  // near_ takes numbers that are up to so many powers of two smaller or larger than the first one:
  // below 2^(53 + 50), and 2^22 of them below 2^125.
  static constexpr int kNearSmaller = 30;
  static constexpr int kNearLarger = 20;
  static constexpr int64_t kNearAddedMax = int64_t{1} << 22;

  // Adds a whole number times a power of two to the digits.
  void AddScaled(__int128 whole, int exponent);
  // Moves what near_ counts to the digits.
  void Settle();
  // Makes room for the digits [first, end).
  void Cover(int first, int end);
  // Moves what exceeds a digit to the next one.
  void Carry();

  // digits_[i] counts 2^(32 (first_ + i)). Digits are signed and may exceed 32 bits for a while.
  int first_ = 0;
  std::vector<int64_t> digits_;
  int64_t added_ = 0;  // To the digits since the last Carry.
  // The sum of numbers whose sizes are near that of the first one, which most are: it counts
  // 2^near_exponent_, and is several times as fast as the digits.
  __int128 near_ = 0;
  int near_exponent_ = 0;
  int64_t near_added_ = 0;  // Since the last Settle.
  bool has_near_ = false;   // near_exponent_ is known.
};

// Inline, because data have many numbers.
inline void ExactSum::Add(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  const int biased = static_cast<int>(bits >> 52 & 0x7ff);
  auto whole = static_cast<int64_t>(bits & ((uint64_t{1} << 52) - 1));
  // A denormal number has the exponent of the smallest normal one.
  if (biased > 0) whole |= int64_t{1} << 52;
  if (whole == 0) return;
  if (bits >> 63 != 0) whole = -whole;
  const int exponent = std::max(biased, 1) - 1075;
  if (!has_near_) {
    has_near_ = true;
    near_exponent_ = exponent - kNearSmaller;
  }
  const int shift = exponent - near_exponent_;
  if (shift < 0 || shift > kNearSmaller + kNearLarger) return AddScaled(whole, exponent);
  near_ += static_cast<__int128>(whole) << shift;
  if (++near_added_ == kNearAddedMax) Settle();
}

}  // namespace cairn::job

#endif  // CAIRN_JOB_EXACT_SUM_H_
