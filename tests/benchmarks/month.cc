// Measures what a very long job costs its coordinator: memory, disk and the longest turn of its
// loop, at 10^5, 3 x 10^5, 10^6, ... batches of one run (see tests/coordinator/month.h). Prints
// rows for results.py.
//
// Usage: month BATCHES
//
// A month of 100 batches per second is 260,000,000 batches. The journal is written to a folder in
// the current one, and removed in the end.

#include "tests/coordinator/month.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/check.h"
#include "tests/benchmarks/result_row.h"

namespace cairn::benchmarks {
namespace {

constexpr int64_t kEpoch = 100'000;

std::string Mebibytes(int64_t bytes) {
  return absl::StrFormat("%.1f MiB", static_cast<double>(bytes) / (1 << 20));
}

void Report(const coordinator::Month::Cost& cost) {
  PrintRow({.name = absl::StrFormat("%.1e batches", static_cast<double>(cost.batches)),
            .value = cost.turn_max * 1e3,
            .unit = "ms, longest turn",
            .note = absl::StrCat(
                absl::StrFormat("CPU %.1f ms, mean %.3f ms", cost.turn_cpu_max * 1e3,
                                cost.turn_cpu_mean * 1e3),
                "; memory ", Mebibytes(cost.memory), ", at most ", Mebibytes(cost.memory_max),
                "; disk ", Mebibytes(cost.disk), ", at most ", Mebibytes(cost.disk_max), "; ",
                cost.restarts, " restarts, at most ",
                absl::StrFormat("%.0f ms", cost.restart_max * 1e3), "; a turn writes at most ",
                cost.turn_changes_max, " records, ", cost.turn_bytes_max, " bytes")});
  std::fflush(stdout);
}

void Run(const std::string& folder, int64_t batches) {
  coordinator::Month month({.directory = folder, .batches = batches, .batches_per_epoch = kEpoch});
  // 1, 3, 10, 30, ... epochs.
  for (int64_t tens = kEpoch; tens < batches; tens *= 10) {
    for (const int64_t next : {tens, 3 * tens}) {
      if (next >= batches) break;
      CAIRN_CHECK(month.RunUntil(next));
      Report(month.cost());
    }
  }
  CAIRN_CHECK(month.RunUntil(batches));
  Report(month.cost());
}

}  // namespace
}  // namespace cairn::benchmarks

int main(int argc, char** argv) {
  const double batches = argc == 2 ? std::atof(argv[1]) : 0;
  const auto epochs = std::llround(batches / cairn::benchmarks::kEpoch);
  std::string folder = "month.XXXXXX";
  if (epochs < 1 || mkdtemp(folder.data()) == nullptr) {
    std::fprintf(stderr, "usage: month BATCHES, at least %d, in a folder to write to\n",
                 static_cast<int>(cairn::benchmarks::kEpoch));
    return 2;
  }
  cairn::benchmarks::Run(folder, epochs * cairn::benchmarks::kEpoch);
  std::filesystem::remove_all(folder);
  return 0;
}
