#include "nn/all_finite.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "common/simd.h"

namespace cairn::nn {
namespace {

constexpr uint32_t kMagnitude = 0x7fffffff;
// The bits of infinity. Those of NaNs are greater, and those of all other numbers are smaller.
constexpr uint32_t kInfinity = 0x7f800000;

// A maximum of integers, unlike one of floats, may be computed in any order, so the loop is
// vectorized, and no NaN gets lost in a comparison.
CAIRN_SIMD uint32_t GreatestMagnitude(const float* values, int64_t count) {
  uint32_t greatest = 0;
  for (int64_t i = 0; i < count; ++i) {
    greatest = std::max(greatest, std::bit_cast<uint32_t>(values[i]) & kMagnitude);
  }
  return greatest;
}

}  // namespace

bool AllFinite(absl::Span<const float> values) {
  return GreatestMagnitude(values.data(), static_cast<int64_t>(values.size())) < kInfinity;
}

}  // namespace cairn::nn
