#include "nn/optimizers/square_sum.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace cairn::nn {
namespace {

// A float is m 2^(e - 150) with an integer m < 2^24 and e in 1 to 254. Subnormal numbers (exponent
// field 0) have no leading one and e = 1. Exponent field 255 means infinity or NaN.
constexpr int kExponents = 256;
constexpr int kMantissaBits = 23;
constexpr uint32_t kLeadingOne = uint32_t{1} << kMantissaBits;
constexpr int kWordBits = 64;
constexpr int kUnitExponent = -298;

// The number of squared mantissas (48 bits each) whose sum fits 64 bits.
constexpr size_t kRun = size_t{1} << 16;
// Adjacent values often have equal exponents. Separate sums per lane avoid a dependency between
// them.
constexpr size_t kLanes = 4;

struct ExponentSums {
  uint64_t of[kLanes][kExponents] = {};

  void Add(size_t lane, float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    const uint32_t exponent = bits >> kMantissaBits & 0xff;
    const uint64_t mantissa = (bits & (kLeadingOne - 1)) | (exponent == 0 ? 0 : kLeadingOne);
    of[lane][exponent] += mantissa * mantissa;
  }
  uint64_t Total(int exponent) const {
    uint64_t total = 0;
    for (const auto& lane : of) total += lane[exponent];
    return total;
  }
};

ExponentSums SumByExponent(absl::Span<const float> values) {
  ExponentSums sums;
  size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) sums.Add(lane, values[i + lane]);
  }
  for (; i < values.size(); ++i) sums.Add(0, values[i]);
  return sums;
}

}  // namespace

void SquareSum::Add(absl::Span<const float> values) {
  for (; !values.empty(); values.remove_prefix(std::min(kRun, values.size()))) {
    // Squares of one exponent add up in 64 bits. Only the sum of each exponent is shifted into the
    // 640-bit number, so the cost per value is one multiplication and addition.
    const ExponentSums sums = SumByExponent(values.subspan(0, kRun));
    for (int exponent = 0; exponent < kExponents - 1; ++exponent) {
      AddShifted(sums.Total(exponent), 2 * std::max(0, exponent - 1));
    }
    if (sums.Total(kExponents - 1) != 0) finite_ = false;
  }
}

void SquareSum::Add(const SquareSum& other) {
  for (int word = 0; word < kWords; ++word) AddAt(word, other.words_[word]);
  finite_ = finite_ && other.finite_;
}

void SquareSum::AddShifted(uint64_t term, int shift) {
  if (term == 0) return;
  const int word = shift / kWordBits;
  const int bits = shift % kWordBits;
  AddAt(word, term << bits);
  if (bits > 0) AddAt(word + 1, term >> (kWordBits - bits));
}

void SquareSum::AddAt(int word, uint64_t term) {
  for (; term != 0 && word < kWords; ++word) {
    words_[word] += term;
    term = words_[word] < term ? 1 : 0;  // Carry.
  }
}

double SquareSum::value() const {
  if (!finite_) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (int word = kWords - 1; word >= 0; --word) {
    sum += std::ldexp(static_cast<double>(words_[word]), word * kWordBits + kUnitExponent);
  }
  return sum;
}

absl::Span<const uint64_t> SquareSum::words() const {
  size_t count = kWords;
  while (count > 0 && words_[count - 1] == 0) --count;
  return absl::MakeConstSpan(words_).subspan(0, count);
}

absl::StatusOr<SquareSum> SquareSum::FromWords(absl::Span<const uint64_t> words, bool finite) {
  if (words.size() > static_cast<size_t>(kWords)) {
    return absl::InvalidArgumentError(absl::StrCat("a sum of squares has ", words.size(),
                                                   " words; at most ", kWords, " are possible"));
  }
  SquareSum sum;
  std::copy(words.begin(), words.end(), sum.words_.begin());
  sum.finite_ = finite;
  return sum;
}

}  // namespace cairn::nn
