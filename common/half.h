#ifndef CAIRN_COMMON_HALF_H_
#define CAIRN_COMMON_HALF_H_

#include <bit>
#include <cmath>
#include <cstdint>

namespace cairn {

// The bits of 16-bit floating point numbers: float16 is IEEE 754 binary16; bfloat16 is the upper
// half of a float32. Conversions from float round to nearest, ties to even.

inline float FloatFromBfloat16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

inline float FloatFromFloat16(uint16_t bits) {
  const uint32_t sign = uint32_t{bits & 0x8000U} << 16;
  const uint32_t exponent = bits >> 10 & 0x1FU;
  const uint32_t fraction = bits & 0x3FFU;
  if (exponent == 0) {  // Zero, or a subnormal number.
    const float magnitude = std::ldexp(static_cast<float>(fraction), -24);
    return sign != 0 ? -magnitude : magnitude;
  }
  // The exponents are biased by 15 and by 127.
  const uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

// A float16 in memory, which converts to its value.
struct Float16 {
  uint16_t bits = 0;

  operator float() const { return FloatFromFloat16(bits); }  // NOLINT(google-explicit-constructor)
};

inline uint16_t Bfloat16FromFloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40U);
  return static_cast<uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}

inline uint16_t Float16FromFloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000U);
  const float magnitude = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7E00U;
  if (magnitude >= 65520.0F) return sign | 0x7C00U;  // Rounds to infinity.
  if (magnitude < 0x1p-14F) {
    // Subnormal: a multiple of 2^-24. nearbyint rounds ties to even.
    return sign | static_cast<uint16_t>(std::nearbyint(std::ldexp(magnitude, 24)));
  }
  const uint32_t rounded = (bits & 0x7FFFFFFFU) + 0xFFFU + (bits >> 13 & 1U);
  return static_cast<uint16_t>(sign | ((rounded >> 13) - (112U << 10)));
}

}  // namespace cairn

#endif  // CAIRN_COMMON_HALF_H_
