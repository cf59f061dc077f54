#include "cli/view/loss_warning.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/nonfinite_text.h"

namespace cairn::cli {
namespace {

bool TrainsOnNonfinite(const proto::JobStatus& job) { return !std::isfinite(job.loss()); }

bool ValidatesNonfinite(const proto::JobStatus& job) {
  return !job.evaluations().empty() && !std::isfinite(job.evaluations().rbegin()->loss());
}

// Names the losses that are not finite now.
std::string LossesOf(const proto::JobStatus& job) {
  std::string text;
  if (TrainsOnNonfinite(job)) {
    absl::StrAppend(&text, "its training loss is ", NonfiniteText(job.loss()));
  }
  if (ValidatesNonfinite(job)) {
    absl::StrAppend(&text, text.empty() ? "" : " and ", "its validation loss is ",
                    NonfiniteText(job.evaluations().rbegin()->loss()));
  }
  return text;
}

// ", first at batch 2 (epoch 1)", numbered from 1.
std::string FirstBatch(const proto::NonFiniteLoss& loss) {
  return absl::StrCat(", first at batch ", loss.batch() + 1, " (epoch ", loss.epoch() + 1, ")",
                      loss.data_not_finite() ? ", whose data are not finite" : "");
}

std::string FirstEvaluation(const proto::NonFiniteLoss& loss) {
  return absl::StrCat(", first after epoch ", loss.epoch() + 1,
                      loss.data_not_finite() ? ", on validation data that are not finite" : "");
}

std::string Advice(bool data_not_finite) {
  return data_not_finite ? ": fix them; without allow_nan in the job file such data are rejected"
                         : ": try a smaller learning_rate or clipnorm and check the data";
}

}  // namespace

std::string NonfiniteLoss(const proto::JobStatus& job) {
  if (TrainsOnNonfinite(job)) return NonfiniteText(job.loss());
  if (ValidatesNonfinite(job)) return NonfiniteText(job.evaluations().rbegin()->loss());
  return "";
}

std::string LossWarning(const proto::JobStatus& job) {
  const std::string losses = LossesOf(job);
  if (losses.empty()) return "";
  if (TrainsOnNonfinite(job)) {
    const proto::NonFiniteLoss& first = job.nonfinite_loss();
    return absl::StrCat(losses, job.has_nonfinite_loss() ? FirstBatch(first) : "",
                        Advice(first.data_not_finite()),
                        "; the callback terminate_on_nan stops such a job at once");
  }
  const proto::NonFiniteLoss& first = job.nonfinite_validation();
  return absl::StrCat(losses, job.has_nonfinite_validation() ? FirstEvaluation(first) : "",
                      Advice(first.data_not_finite()));
}

}  // namespace cairn::cli
