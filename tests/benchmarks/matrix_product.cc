// How fast this machine multiplies matrices with nn's own product, on as many threads as
// OMP_NUM_THREADS says. Prints the best GFLOP/s of half a second's products, for peer.py.
//
// Usage: matrix_product

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "nn/cpu/dense_product.h"

namespace cairn::nn {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kSide = 512;
constexpr std::chrono::milliseconds kTime(500);

double BestSeconds() {
  const std::vector<float> a(kSide * kSide, 1.0f);
  const std::vector<float> b(kSide * kSide, 0.5f);
  std::vector<float> c(kSide * kSide);
  const DnnlContext context;
  DenseProduct product({.rows = kSide, .columns = kSide, .inner = kSide}, &context);
  std::chrono::duration<double> best = std::chrono::hours(1);
  for (const auto end = Clock::now() + kTime; Clock::now() < end;) {
    const auto start = Clock::now();
    product.Run(a.data(), b.data(), nullptr, c.data());
    best = std::min<std::chrono::duration<double>>(best, Clock::now() - start);
  }
  return best.count();
}

}  // namespace
}  // namespace cairn::nn

int main() {
  const double operations = 2.0 * cairn::nn::kSide * cairn::nn::kSide * cairn::nn::kSide;
  std::printf("%.1f\n", operations / cairn::nn::BestSeconds() / 1e9);
  return 0;
}
