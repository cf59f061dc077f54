// The machine's speed, for the floors of other benchmarks: oneDNN's sgemm on square matrices, and
// memory bandwidth. Prints one JSON object.
//
// Usage: machine_speed THREADS

#include <omp.h>
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

// The best time of several runs, in seconds.
template <typename Work>
double BestTime(int goes, const Work& work) {
  double best = 1e9;
  for (int i = 0; i < goes; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

double ProductsPerSecond() {
  constexpr int64_t kSide = 1024;
  std::vector<float> a(kSide * kSide, 1.0f);
  std::vector<float> b(kSide * kSide, 0.5f);
  std::vector<float> c(kSide * kSide);
  return 2.0 * kSide * kSide * kSide / BestTime(20, [&] {
           dnnl_sgemm('N', 'N', kSide, kSide, kSide, 1, a.data(), kSide, b.data(), kSide, 0,
                      c.data(), kSide);
         });
}

// y += x transfers 12 bytes per element.
double BytesPerSecond() {
  constexpr int64_t kCount = int64_t{1} << 25;
  std::vector<float> x(kCount, 1.0f);
  std::vector<float> y(kCount, 1.0f);
  const float* from = x.data();
  float* to = y.data();
  return 3.0 * sizeof(float) * kCount / BestTime(10, [&] {
#pragma omp parallel for
           for (int64_t i = 0; i < kCount; ++i) to[i] += from[i];
         });
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc == 2 ? std::atoi(argv[1]) : 0;
  if (threads < 1) {
    std::fprintf(stderr, "usage: machine_speed THREADS\n");
    return 2;
  }
  omp_set_num_threads(threads);
  std::printf("{\"threads\": %d, \"operations_per_second\": %.4g, \"bytes_per_second\": %.4g}\n",
              threads, ProductsPerSecond(), BytesPerSecond());
  return 0;
}
