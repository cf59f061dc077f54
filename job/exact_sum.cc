#include "job/exact_sum.h"

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace cairn::job {
namespace {

using boost::multiprecision::cpp_int;

constexpr int kDigitBits = 32;
constexpr int64_t kDigit = int64_t{1} << kDigitBits;
// A double is a whole number below 2^53 times 2^e, with e from -1074 to 971; 2^63 of them have
// digits in this range.
constexpr int kFirstDigit = -34;
constexpr int kEndDigit = 36;
// Each number adds less than 2 kDigit to a digit.
constexpr int64_t kAddedMax = int64_t{1} << 20;

struct Scaled {
  cpp_int whole;
  int exponent = 0;  // Of two.
};

Scaled ScaledOf(const proto::ExactSum& sum) {
  Scaled scaled;
  for (int i = sum.digits_size() - 1; i >= 0; --i) {
    scaled.whole <<= kDigitBits;
    scaled.whole += sum.digits(i);
  }
  scaled.exponent = kDigitBits * sum.first();
  return scaled;
}

long double ToFloat(const Scaled& scaled) {
  return std::ldexp(scaled.whole.convert_to<long double>(), scaled.exponent);
}

}  // namespace

absl::StatusOr<ExactSum> ExactSum::Create(const proto::ExactSum& sum) {
  const int64_t end = int64_t{sum.first()} + sum.digits_size();
  if (sum.first() < kFirstDigit || end > kEndDigit) {
    return absl::InvalidArgumentError(
        absl::StrCat("a sum has the digits ", sum.first(), " to ", end));
  }
  ExactSum result;
  result.first_ = sum.first();
  for (const int64_t digit : sum.digits()) {
    if (digit <= -kDigit || digit >= kDigit) {
      return absl::InvalidArgumentError(absl::StrCat("a sum has the digit ", digit));
    }
    result.digits_.push_back(digit);
  }
  return result;
}

void ExactSum::Settle() {
  // In halves of 62 bits: AddScaled shifts them by up to 31.
  constexpr __int128 kHalf = static_cast<__int128>(1) << 62;
  const __int128 sum = near_;
  near_ = 0;
  near_added_ = 0;
  if (sum == 0) return;
  AddScaled(sum & (kHalf - 1), near_exponent_);
  AddScaled(sum >> 62, near_exponent_ + 62);
}

void ExactSum::AddScaled(__int128 whole, int exponent) {
  const int place = exponent >> 5;
  const __int128 wide = whole << (exponent & 31);
  Cover(place, place + 3);
  int64_t* const digits = &digits_[place - first_];
  digits[0] += static_cast<int64_t>(wide & (kDigit - 1));
  digits[1] += static_cast<int64_t>((wide >> kDigitBits) & (kDigit - 1));
  digits[2] += static_cast<int64_t>(wide >> (2 * kDigitBits));
  if (++added_ == kAddedMax) Carry();
}

void ExactSum::Add(const ExactSum& other) {
  ExactSum carried = other;
  carried.Settle();
  carried.Carry();
  Carry();
  Cover(carried.first_, carried.first_ + static_cast<int>(carried.digits_.size()));
  for (size_t i = 0; i < carried.digits_.size(); ++i) {
    digits_[carried.first_ - first_ + i] += carried.digits_[i];
  }
  added_ = 1;
}

void ExactSum::Cover(int first, int end) {
  if (digits_.empty()) first_ = first;
  if (first < first_) {
    digits_.insert(digits_.begin(), first_ - first, 0);
    first_ = first;
  }
  const int size = end - first_;
  if (size > static_cast<int>(digits_.size())) digits_.resize(size);
}

void ExactSum::Carry() {
  added_ = 0;
  int64_t carry = 0;
  for (size_t i = 0; i < digits_.size() || (carry != 0 && carry != -1); ++i) {
    if (i == digits_.size()) digits_.push_back(0);
    digits_[i] += carry;
    carry = digits_[i] >> kDigitBits;
    digits_[i] &= kDigit - 1;
  }
  // A negative sum has a negative last digit.
  if (carry == -1) digits_.back() -= kDigit;
}

proto::ExactSum ExactSum::ToProto() const {
  ExactSum sum = *this;
  sum.Settle();
  sum.Carry();
  const bool is_negative = !sum.digits_.empty() && sum.digits_.back() < 0;
  // All digits get the sign of the sum, so that a small negative one has few.
  if (is_negative) {
    for (int64_t& digit : sum.digits_) digit = -digit;
    sum.Carry();
  }
  size_t begin = 0;
  size_t end = sum.digits_.size();
  while (end > 0 && sum.digits_[end - 1] == 0) --end;
  while (begin < end && sum.digits_[begin] == 0) ++begin;
  proto::ExactSum result;
  if (begin == end) return result;
  result.set_first(sum.first_ + static_cast<int>(begin));
  for (size_t i = begin; i < end; ++i) {
    result.add_digits(is_negative ? -sum.digits_[i] : sum.digits_[i]);
  }
  return result;
}

double ExactSum::Mean(int64_t count) const {
  return static_cast<double>(ToFloat(ScaledOf(ToProto())) / static_cast<long double>(count));
}

double ExactSum::Deviation(const ExactSum& squares, int64_t count) const {
  Scaled square = ScaledOf(ToProto());
  square.whole *= square.whole;
  square.exponent *= 2;
  Scaled all = ScaledOf(squares.ToProto());
  all.whole *= count;
  const int exponent = std::min(square.exponent, all.exponent);
  all.whole <<= all.exponent - exponent;
  square.whole <<= square.exponent - exponent;
  const Scaled difference = {all.whole - square.whole, exponent};
  if (difference.whole < 0) return 0;  // No numbers have these sums.
  return static_cast<double>(std::sqrt(ToFloat(difference)) / static_cast<long double>(count));
}

}  // namespace cairn::job
