#ifndef CAIRN_CLI_DRILL_DRILL_H_
#define CAIRN_CLI_DRILL_DRILL_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "cli/commands/command.h"

namespace cairn::cli {

struct DrillOptions {
  std::string job_file;
  std::string plan;
  uint64_t seed = 1;
  int ps = -1;          // -1: those that the job's strategy needs, or 2.
  int workers = 0;      // 0: 1 if the job's strategy is of one worker, else 3.
  int faults = 0;       // 0: the plan's number.
  double duration = 0;  // Seconds. If not 0, faults follow each other for so long.
  double every = 0;     // Seconds. If not 0, a fault begins whenever they have passed.
  int epochs = 0;       // If not 0, in place of the job's.
  int threads = 0;      // Of each worker; 0: the worker's default.
  int step_delay = 0;   // Milliseconds by which each step is lengthened.
  // The folder of the report and, during the drill, of the clusters' state directories.
  std::string output = "cairn-drill";
  bool keep = false;  // Keep the state directories.
  bool json = false;
};

// Trains the job on a local cluster under the faults of the plan, prints each fault and recovery,
// and writes the report. A synchronous job is first trained without faults, to compare the final
// values. Returns the exit code: kExitDone (passed), kExitJobFailed (wrong) or kExitBadInput
// (void). An error says why there was no drill. Call it before the process has other threads.
absl::StatusOr<int> RunDrill(const DrillOptions& options, const CommandContext& context);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_DRILL_DRILL_H_
