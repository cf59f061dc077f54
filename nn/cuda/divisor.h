#ifndef CAIRN_NN_CUDA_DIVISOR_H_
#define CAIRN_NN_CUDA_DIVISOR_H_

#include <cstdint>

namespace cairn::nn::cuda {

// A number that kernels divide by. GPUs have no instruction for the division of 64-bit integers,
// which takes about 70 instructions; here it is a multiplication and a shift (Granlund and
// Montgomery, 1994). The host creates it. It converts from and to the number.
//
//   const Divisor width = image_width;
//   ForEach(context, count, [=] __device__(int64_t i) { ... i / width, i % width ... });
//
// Dividends must not be negative.
class Divisor {
 public:
  constexpr Divisor() = default;  // 1
  // `value` must be positive to be divided by.
  constexpr Divisor(int64_t value) : value_(value) {
    if (value <= 0) return;
    while ((uint64_t{1} << shift_) < static_cast<uint64_t>(value)) ++shift_;
    // 2^(63 + shift) / value, rounded up. It is less than 2^64, as value > 2^(shift - 1).
    factor_ = static_cast<uint64_t>(((Wide{1} << (63 + shift_)) + (value - 1)) / value);
  }

  constexpr operator int64_t() const { return value_; }
  friend constexpr int64_t operator/(int64_t dividend, const Divisor& divisor) {
    const Wide product = Wide{2 * static_cast<uint64_t>(dividend)} * divisor.factor_;
    return static_cast<int64_t>(static_cast<uint64_t>(product >> 64) >> divisor.shift_);
  }
  friend constexpr int64_t operator%(int64_t dividend, const Divisor& divisor) {
    return dividend - dividend / divisor * divisor.value_;
  }

 private:
  using Wide = unsigned __int128;

  int64_t value_ = 1;
  uint64_t factor_ = uint64_t{1} << 63;
  int shift_ = 0;
};

}  // namespace cairn::nn::cuda

#endif  // CAIRN_NN_CUDA_DIVISOR_H_
