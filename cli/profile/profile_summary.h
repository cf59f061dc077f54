#ifndef CAIRN_CLI_PROFILE_PROFILE_SUMMARY_H_
#define CAIRN_CLI_PROFILE_PROFILE_SUMMARY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "proto/coordinator.pb.h"

namespace cairn::cli {

// A profiled task's time, added up.
struct ProfileSummary {
  struct Part {
    std::string name;
    int64_t count = 0;  // Spans.
    double seconds = 0;
  };
  struct Layer {
    std::string name;
    double forward_seconds = 0;
    double backward_seconds = 0;
  };

  std::string task;   // "worker 0".
  int64_t steps = 0;  // 0: a ps.
  // From the first span's begin to the last one's end.
  double seconds = 0;
  // Of a worker: read, wait, pull, compute (forward and backward passes without the pushes in
  // them), push, and other, which is the rest. Of a ps: receive, apply, reply, over all its
  // threads.
  std::vector<Part> phases;
  // Of a worker, in the model's order; those that take no time are left out.
  std::vector<Layer> layers;
};

ProfileSummary Summarize(const proto::ProfileReport& report);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_PROFILE_PROFILE_SUMMARY_H_
