#ifndef CAIRN_CLI_DRILL_DRILL_REPORT_H_
#define CAIRN_CLI_DRILL_DRILL_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/drill/fault_watch.h"
#include "cli/drill/verdict.h"
#include "nlohmann/json.hpp"

namespace cairn::cli {

struct LossPoint {
  double seconds = 0;
  double loss = 0;
};

// Everything that a drill has found out.
struct DrillReport {
  std::string job;
  std::string length;  // "20 epochs"
  std::string plan;
  uint64_t seed = 0;
  int ps = 0;
  int workers = 0;
  std::vector<FaultRecord> faults;
  TrainingResult result;
  std::optional<TrainingResult> twin;  // The run without faults.
  std::optional<ValueComparison> comparison;
  std::optional<Throughput> throughput;
  std::vector<ProgressPoint> progress;
  std::vector<LossPoint> loss;
  Judgement judgement;
};

// The loss over time: for each part of the drill in which batches became done, the mean loss that
// the history has for them. `losses[i]` is that of batch `first` + i. At most `points` parts of
// equal length; batches without a finite loss are left out.
std::vector<LossPoint> LossOverTime(const std::vector<ProgressPoint>& progress, int64_t first,
                                    const std::vector<double>& losses, int points);

// drill.json, without the curves.
nlohmann::ordered_json ReportJson(const DrillReport& report);

// One element of its "faults".
nlohmann::ordered_json FaultJson(const FaultRecord& record);

// drill.html: one page that loads nothing.
std::string ReportHtml(const DrillReport& report);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_DRILL_DRILL_REPORT_H_
