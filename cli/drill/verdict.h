#ifndef CAIRN_CLI_DRILL_VERDICT_H_
#define CAIRN_CLI_DRILL_VERDICT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/drill/drill_plan.h"

namespace cairn::cli {

// A fault that was planned. Times are seconds.
struct FaultRecord {
  Fault fault;
  // Since the start of training; nullopt: the fault did not fire.
  std::optional<double> at;
  int64_t batch = 0;       // Batches done then.
  double rate_before = 0;  // Batches per second.
  // From the fault to the first sign of it in the status of the cluster.
  std::optional<double> to_notice;
  // Of a fault that lasts: for how long it did, and how often it took effect (see FaultInjector).
  std::optional<double> lasted;
  int64_t effects = 0;
  // The job ended before the fault was noticed and had lasted long enough.
  bool cut_short = false;
  // From the fault (of one that lasts: from its end) until all tasks are live and the first second
  // begins in which the rate is at least 80 % of `rate_before`. nullopt: the job ended before.
  std::optional<double> to_full_speed;
  // The time in which the cluster should be at full speed again; nullopt: there is no such goal.
  std::optional<double> goal;
};

// What a job has left behind when it has ended.
struct TrainingResult {
  bool finished = false;
  std::string error;  // Why it has not finished.
  double seconds = 0;
  int64_t batches_done = 0;
  int64_t total_batches = 0;
  int64_t applied_batches = 0;  // In the ledger of the newest checkpoint.
  int64_t lost_reports = 0;     // Applied batches without a loss in the history.
  uint64_t duplicates_refused = 0;
  int64_t rollbacks = 0;
};

// The final values of a synchronous job beside those of the run without faults.
struct ValueComparison {
  int64_t values = 0;
  int64_t different = 0;  // In at least one bit.
  // "conv/kernel[17] is 0.25, not 0.5"; empty: none differs.
  std::string first_difference;
};

// Requires the same variables in both.
ValueComparison CompareBits(const std::vector<std::string>& names,
                            const std::vector<std::vector<float>>& values,
                            const std::vector<std::vector<float>>& expected);

enum class Verdict {
  kPassed,
  kWrong,  // The job failed, or its result is not that of a run without faults.
  kVoid,   // The drill proves nothing, because a planned fault did not fire.
};

const char* VerdictName(Verdict verdict);

struct Judgement {
  Verdict verdict = Verdict::kVoid;
  // What was found, one sentence each, the reason of the verdict first.
  std::vector<std::string> findings;
};

// `comparison` is nullopt for a job whose bits depend on the order of updates. A wrong result
// outweighs a fault that did not fire.
Judgement Judge(const std::vector<FaultRecord>& faults, const TrainingResult& result,
                const std::optional<ValueComparison>& comparison);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_DRILL_VERDICT_H_
