#ifndef CAIRN_CLI_PROFILE_PROFILE_SUMMARY_H_
#define CAIRN_CLI_PROFILE_PROFILE_SUMMARY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "proto/coordinator.pb.h"

namespace cairn::cli {

// The time of a profiled task, by phase and by layer.
struct ProfileSummary {
  struct Part {
    std::string name;
    int64_t count = 0;  // Number of spans.
    double seconds = 0;
  };
  struct Layer {
    std::string name;
    double forward_seconds = 0;
    double backward_seconds = 0;
  };

  std::string task;   // "worker 0".
  int64_t steps = 0;  // 0 for a ps.
  // From the begin of the first span to the end of the last one.
  double seconds = 0;
  // Of a worker: data, wait, pull, compute (forward and backward pass without the pushes inside of
  // them), push, and other (the rest). Of a ps: receive, apply, reply, summed over its threads.
  std::vector<Part> phases;
  // Of a worker, in the model's order, without layers that take no time.
  std::vector<Layer> layers;
  // Of a worker: what its reader threads have done for so many batches, beside the phases.
  int64_t loaded_batches = 0;
  double reading_seconds = 0;
  double decoding_seconds = 0;
};

ProfileSummary Summarize(const proto::ProfileReport& report);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_PROFILE_PROFILE_SUMMARY_H_
