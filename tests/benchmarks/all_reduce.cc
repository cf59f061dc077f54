// One rank of all-reduces, for all_reduce.py.
//
// Usage: all_reduce direct|ring|shared, with TF_CONFIG. shared is the direct algorithm through
// shared memory; the other two use TCP. Reads lines "BYTES REPEATS" from standard input; rank 0
// answers each with the seconds of one all-reduce.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "collectives/group.h"
#include "tests/benchmarks/or_exit.h"

int main(int argc, char** argv) {
  using cairn::collectives::Algorithm;
  using cairn::collectives::Group;
  using cairn::collectives::GroupOptions;
  const char* const tf_config = std::getenv("TF_CONFIG");
  GroupOptions options =
      cairn::OrExit(GroupOptions::FromTfConfig(tf_config == nullptr ? "" : tf_config));
  const bool is_ring = argc > 1 && std::strcmp(argv[1], "ring") == 0;
  options.algorithm = is_ring ? Algorithm::kRing : Algorithm::kDirect;
  const bool shares = argc > 1 && std::strcmp(argv[1], "shared") == 0;
  options.shared_memory =
      shares ? cairn::collectives::SharedMemory::kAuto : cairn::collectives::SharedMemory::kOff;
  const std::unique_ptr<Group> group = cairn::OrExit(Group::Join(options));
  if (group->uses_shared_memory() != shares) return 1;
  size_t bytes = 0;
  int repeats = 0;
  while (std::cin >> bytes >> repeats) {
    std::vector<float> values(bytes / sizeof(float), 1.0F);
    const auto reduce = [&] {
      cairn::OrExit(group->AllReduce({{values.data(), values.size()}},
                                     cairn::collectives::ReduceOp::kAverage));
    };
    reduce();
    cairn::OrExit(group->Barrier());
    const absl::Time begin = absl::Now();
    for (int i = 0; i < repeats; ++i) reduce();
    const double seconds = absl::ToDoubleSeconds(absl::Now() - begin) / repeats;
    for (const float value : values) {
      if (value != 1) return 1;
    }
    if (group->rank() == 0) std::cout << seconds << std::endl;
  }
  return 0;
}
