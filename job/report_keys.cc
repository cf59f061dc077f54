#include "job/report_keys.h"

#include <algorithm>
#include <iterator>

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

}  // namespace cairn::job
