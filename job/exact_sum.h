#ifndef CAIRN_JOB_EXACT_SUM_H_
#define CAIRN_JOB_EXACT_SUM_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/job.pb.h"

namespace cairn::job {

// A sum of numbers without rounding, so it is the same in any order, and however the numbers are
// divided among workers. It is a whole number of many digits times a power of two (Kulisch,
// Computer Arithmetic and Validity, chapter 8). Takes the memory of the digits that are used: about
// 50 bytes for numbers of similar sizes. Not thread-safe.
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
  // Makes room for the digits [first, end).
  void Cover(int first, int end);
  // Moves what exceeds a digit to the next one.
  void Carry();

  // digits_[i] counts 2^(32 (first_ + i)). Digits are signed and may exceed 32 bits for a while.
  int first_ = 0;
  std::vector<int64_t> digits_;
  int64_t added_ = 0;  // Since the last Carry.
};

}  // namespace cairn::job

#endif  // CAIRN_JOB_EXACT_SUM_H_
