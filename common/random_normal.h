#ifndef CAIRN_COMMON_RANDOM_NORMAL_H_
#define CAIRN_COMMON_RANDOM_NORMAL_H_

#include <cmath>
#include <cstdint>
#include <numbers>

#include "common/random.h"

namespace cairn {

// Uniform in [0, 1), 53 bits: draw `index` of the stream of random.h.
inline double RandomUniformDouble(uint64_t key, uint64_t index) {
  return static_cast<double>(RandomBits(key, index) >> 11) * 0x1p-53;
}

// Normal with mean 0 and standard deviation 1: Box and Muller's transform of draws `index` and
// `index + 1`.
inline double RandomNormal(uint64_t key, uint64_t index) {
  const double radius = std::sqrt(-2 * std::log(1 - RandomUniformDouble(key, index)));
  return radius * std::cos(2 * std::numbers::pi * RandomUniformDouble(key, index + 1));
}

}  // namespace cairn

#endif  // CAIRN_COMMON_RANDOM_NORMAL_H_
