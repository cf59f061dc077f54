// A rank that adds ones. After the loss of a rank it goes on with the others, until all of them
// have done STEPS steps more. Prints the size of the group at the end.
//
// Usage: looping_rank STEPS TIMEOUT_SECONDS ELEMENTS auto|off [END], with TF_CONFIG. The fourth
// word is for shared memory. END: after the loss of rank 1 the rank dies while the others make the
// next group: a second after it has answered them, without a word (`answered`); when they have
// found it (`found`); when it has joined them (`joined`).

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cluster/address.h"
#include "collectives/group.h"
#include "collectives/links.h"

namespace {

using cairn::collectives::FindSurvivors;
using cairn::collectives::Group;
using cairn::collectives::GroupOptions;
using cairn::collectives::Links;
using cairn::collectives::LinksOptions;
using cairn::collectives::ReduceOp;
using cairn::collectives::SharedMemory;
using cairn::collectives::Tensor;

int DieAt(const std::string& end, int rank, const GroupOptions& options) {
  LinksOptions links;
  links.rank = rank;
  for (const std::string& address : options.addresses) {
    links.addresses.push_back(*cairn::cluster::ParseAddress(address));
  }
  const bool answers_only = end == "answered" || end == "hangs";
  if (end == "hangs") signal(SIGALRM, [](int) { raise(SIGSTOP); });
  if (answers_only) alarm(1);
  // It only answers if it waits for the lost rank.
  const auto survivors = FindSurvivors(links, answers_only ? -1 : 1, absl::Seconds(60));
  if (!survivors.ok() || end == "found") _exit(0);
  LinksOptions next = links;
  next.addresses.clear();
  for (const int survivor : *survivors) {
    if (survivor == rank) next.rank = static_cast<int>(next.addresses.size());
    next.addresses.push_back(links.addresses[survivor]);
  }
  next.generation = 1;
  Links::Connect(next).IgnoreError();
  _exit(0);
}

int Run(int steps, int timeout_seconds, size_t elements, bool shares, const std::string& end) {
  const char* const tf_config = getenv("TF_CONFIG");
  auto options = GroupOptions::FromTfConfig(tf_config == nullptr ? "" : tf_config);
  if (!options.ok()) return 2;
  options->timeout = absl::Seconds(timeout_seconds);
  options->stall = absl::Seconds(1);
  options->shared_memory = shares ? SharedMemory::kAuto : SharedMemory::kOff;
  auto group = Group::Join(*options);
  if (!group.ok()) {
    std::printf("no group: %s\n", std::string(group.status().message()).c_str());
    return 1;
  }
  if ((*group)->uses_shared_memory() != shares) return 5;
  std::printf("joined\n");
  std::fflush(stdout);
  bool has_lost = false;
  // However slow the machine is, the test has lost a rank before that.
  alarm(600);
  for (int step = 0; step < steps;) {
    std::vector<float> ones(elements, 1.0F);
    const absl::Status status =
        (*group)->AllReduce({Tensor{ones.data(), ones.size()}}, ReduceOp::kSum);
    if (status.ok()) {
      for (const float one : ones) {
        if (one != static_cast<float>((*group)->size())) return 3;
      }
      usleep(2000);
      // The ranks may have lost one in different steps.
      if (has_lost) ++step;
      float least = static_cast<float>(step);
      if ((*group)->AllReduce({Tensor{&least, 1}}, ReduceOp::kMin).ok()) {
        step = static_cast<int>(least);
      }
      continue;
    }
    has_lost = true;
    std::printf("lost: %s\n", std::string(status.message()).c_str());
    std::fflush(stdout);
    if (!end.empty()) {
      const int rank = (*group)->rank();
      group->reset();
      return DieAt(end, rank, *options);
    }
    auto next = (*group)->Reform(/*min_size=*/2, absl::Seconds(5));
    if (!next.ok()) {
      std::printf("alone: %s\n", std::string(next.status().message()).c_str());
      return 4;
    }
    group = std::move(next);
  }
  std::printf("done with %d\n", (*group)->size());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5 && argc != 6) return 2;
  return Run(std::atoi(argv[1]), std::atoi(argv[2]), std::strtoul(argv[3], nullptr, 10),
             std::strcmp(argv[4], "auto") == 0, argc == 6 ? argv[5] : "");
}
