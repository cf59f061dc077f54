#ifndef CAIRN_COMMON_RANDOM_NORMAL_H_
#define CAIRN_COMMON_RANDOM_NORMAL_H_

#include <cmath>
#include <cstdint>
#include <numbers>

#include "common/random.h"

namespace cairn {

// Uniform in [0, 1), with 53 random bits. `key` and `index` as in random.h.
inline double RandomUniformDouble(uint64_t key, uint64_t index) {
  return static_cast<double>(RandomBits(key, index) >> 11) * 0x1p-53;
}

// Standard normal, by the Box-Muller transform of draws `index` and `index + 1`.
inline double RandomNormal(uint64_t key, uint64_t index) {
  const double radius = std::sqrt(-2 * std::log(1 - RandomUniformDouble(key, index)));
  return radius * std::cos(2 * std::numbers::pi * RandomUniformDouble(key, index + 1));
}

}  // namespace cairn

#endif  // CAIRN_COMMON_RANDOM_NORMAL_H_
