#ifndef CAIRN_NN_CUDA_RANDOM_NORMAL_H_
#define CAIRN_NN_CUDA_RANDOM_NORMAL_H_

#include <cmath>
#include <cstdint>

#include "common/random.h"
#include "nn/cuda/launch.h"

namespace cairn::nn::cuda {

// RandomNormal of common/random_normal.h for device code. Only .cu files include this.
__device__ inline double DeviceNormal(uint64_t key, uint64_t index) {
  constexpr double kTwoPi = 6.28318530717958647692;
  const auto uniform = [key](uint64_t i) {
    return static_cast<double>(RandomBits(key, i) >> 11) * 0x1p-53;
  };
  return sqrt(-2 * log(1 - uniform(index))) * cos(kTwoPi * uniform(index + 1));
}

}  // namespace cairn::nn::cuda

#endif  // CAIRN_NN_CUDA_RANDOM_NORMAL_H_
