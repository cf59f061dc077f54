#include "job/report_keys.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace cairn::job {
namespace {

constexpr std::string_view kKeys[] = {"batch",
                                      "batches_done",
                                      "batches_rejected",
                                      "batches_per_epoch",
                                      "best",
                                      "checkpoint",
                                      "checkpoint_error",
                                      "checkpoints_failed",
                                      "checkpoints_skipped",
                                      "cluster_up",
                                      "copies_failed",
                                      "copy_error",
                                      "data",
                                      "duplicates_refused",
                                      "ended_unix_seconds",
                                      "epoch",
                                      "epochs",
                                      "error",
                                      "eta_seconds",
                                      "evaluating",
                                      "evaluation",
                                      "evaluations",
                                      "examples",
                                      "examples_per_second",
                                      "file",
                                      "generation",
                                      "job",
                                      "last_checkpoint",
                                      "learning_rate",
                                      "loss",
                                      "name",
                                      "nonfinite_loss",
                                      "nonfinite_rollbacks",
                                      "nonfinite_validation",
                                      "notes",
                                      "parameters",
                                      "ps_live",
                                      "queue_place",
                                      "rejected",
                                      "rollbacks",
                                      "state",
                                      "stopped_early",
                                      "submitted_unix_seconds",
                                      "total_batches",
                                      "train_damaged",
                                      "validation_damaged",
                                      "waiting_for",
                                      "warning",
                                      "workers_joined",
                                      "workers_live",
                                      "workers_lost"};

}  // namespace

bool IsReportKey(std::string_view name) {
  return std::find(std::begin(kKeys), std::end(kKeys), name) != std::end(kKeys);
}

absl::Status CheckMetricNames(const proto::Job& job) {
  std::set<std::string> names;
  for (int i = 0; i < job.metrics_size(); ++i) {
    const std::string& name = job.metrics(i);
    std::string why;
    if (absl::c_any_of(name, absl::ascii_iscntrl)) {
      // Lines of reports and of csv_logger's files have the names.
      why = absl::StrCat("the name '", absl::CEscape(name),
                         "' has a control character; give the metric");
    } else if (IsReportKey(name)) {
      why = absl::StrCat("reports call something else '", name, "'; give the metric");
    } else if (!names.insert(name).second) {
      why = absl::StrCat("another metric is called '", name, "' already; give this one");
    } else {
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat("metrics[", i, "]: ", why, " another name by \"as\""));
  }
  return absl::OkStatus();
}

}  // namespace cairn::job
