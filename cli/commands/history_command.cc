#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/commands/command.h"
#include "cli/commands/flags.h"
#include "cli/progress_text.h"
#include "cli/status_json.h"
#include "common/nonfinite_text.h"
#include "common/status_macros.h"
#include "storage/rate_changes.h"

namespace cairn::cli {
namespace {

// Prints the chunks of a history as they arrive. The line of an applied batch has no numbers if its
// report was lost with its worker.
class HistoryPrinter {
 public:
  // All batches below `applied` are applied.
  HistoryPrinter(bool json, int64_t applied, std::ostream* out)
      : json_(json), applied_(applied), out_(out) {}

  void PrintBatches(const proto::HistoryChunk& chunk) {
    per_epoch_ = std::max<int64_t>(1, chunk.batches_per_epoch());
    initial_epoch_ = chunk.initial_epoch();
    metric_names_ = {chunk.metric_names().begin(), chunk.metric_names().end()};
    rates_ = storage::RateChanges(chunk.rates());
    for (const proto::BatchRecord& batch : chunk.batches()) {
      PrintMissingUpTo(batch.batch());
      Print(batch.batch(), &batch);
      next_ = batch.batch() + 1;
    }
    evaluations_.insert(evaluations_.end(), chunk.evaluations().begin(), chunk.evaluations().end());
  }

  // True if nothing was printed.
  bool is_empty() const { return next_ == 0 && evaluations_.empty(); }

  void PrintEnd() {
    PrintMissingUpTo(applied_);
    google::protobuf::RepeatedPtrField<std::string> names(metric_names_.begin(),
                                                          metric_names_.end());
    for (const auto& evaluation : evaluations_) {
      const int64_t last_batch = (evaluation.epoch() - initial_epoch_ + 1) * per_epoch_ - 1;
      if (json_) {
        nlohmann::ordered_json line = EvaluationJson(evaluation, names);
        AddRate(last_batch, &line);
        *out_ << line.dump() << "\n";
      } else {
        *out_ << "epoch " << evaluation.epoch() + 1 << " validation  "
              << EvaluationText(evaluation, names) << RateText(last_batch) << "\n";
      }
    }
  }

 private:
  void PrintMissingUpTo(int64_t end) {
    for (; next_ < std::min(end, applied_); ++next_) Print(next_, nullptr);
  }

  void Print(int64_t number, const proto::BatchRecord* batch) {
    json_ ? PrintJson(number, batch) : PrintText(number, batch);
  }

  void PrintJson(int64_t number, const proto::BatchRecord* batch) {
    nlohmann::ordered_json line;
    line["epoch"] = initial_epoch_ + number / per_epoch_;
    line["batch"] = number % per_epoch_;
    line["loss"] = nullptr;
    if (batch != nullptr) line["loss"] = NumberJson(batch->loss());
    if (batch != nullptr && !std::isfinite(batch->loss())) {
      line["nonfinite_loss"] = NonfiniteText(batch->loss());  // Not a lost report.
    }
    if (batch != nullptr && batch->rejected()) line["rejected"] = true;
    for (int i = 0; i < static_cast<int>(metric_names_.size()); ++i) {
      line[metric_names_[i]] = batch != nullptr && i < batch->metrics_size()
                                   ? NumberJson(batch->metrics(i))
                                   : nlohmann::ordered_json(nullptr);
    }
    AddRate(number, &line);
    *out_ << line.dump() << "\n";
  }

  // The learning rate of a batch that a callback has set, or 0 if none has.
  double RateOf(int64_t batch) const { return rates_.At(batch).value_or(0); }

  void AddRate(int64_t batch, nlohmann::ordered_json* line) const {
    if (rates_.count() > 0) (*line)["learning_rate"] = RateOf(batch);
  }

  std::string RateText(int64_t batch) const {
    return rates_.count() == 0 ? "" : absl::StrFormat("  lr %.4g", RateOf(batch));
  }

  void PrintText(int64_t number, const proto::BatchRecord* batch) {
    *out_ << "epoch " << initial_epoch_ + number / per_epoch_ + 1 << " batch "
          << number % per_epoch_ + 1 << "  ";
    if (batch == nullptr) {
      *out_ << "report lost\n";
      return;
    }
    std::vector<std::pair<std::string, double>> metrics;
    for (int i = 0; i < std::min<int>(batch->metrics_size(), metric_names_.size()); ++i) {
      metrics.emplace_back(metric_names_[i], batch->metrics(i));
    }
    *out_ << LossText(batch->loss(), metrics) << RateText(number)
          << (batch->rejected() ? "  rejected" : "") << "\n";
  }

  const bool json_;
  const int64_t applied_;
  std::ostream* const out_;
  int64_t per_epoch_ = 1;
  int64_t initial_epoch_ = 0;
  int64_t next_ = 0;
  std::vector<std::string> metric_names_;
  storage::RateChanges rates_;
  std::vector<proto::EvaluationRecord> evaluations_;
};

absl::StatusOr<int> PrintHistory(const CommonFlags& flags, const CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const FoundSource found, FindSource(flags.Choice(context)));
  CAIRN_ASSIGN_OR_RETURN(const proto::JobStatus job, found.source->GetJob(flags.job));
  // Before the end of a job only the records tell which batches are applied.
  const int64_t applied = job.state() == proto::FINISHED ? job.total_batches() : 0;
  HistoryPrinter printer(flags.json, applied, context.out);
  CAIRN_RETURN_IF_ERROR(found.source->ReadHistory(
      absl::StrCat(job.job_id()),
      [&printer](const proto::HistoryChunk& chunk) { printer.PrintBatches(chunk); }));
  printer.PrintEnd();
  if (printer.is_empty() && !flags.json) {
    *context.out << NothingOf("There is no history", job);
  }
  return kExitDone;
}

}  // namespace

Command MakeHistoryCommand() {
  auto flags = std::make_shared<CommonFlags>();
  Command command;
  command.name = "history";
  command.description = "Print loss and metrics of each batch, in order, and of each evaluation";
  command.details = "With --json, epochs and batches count from 0.";
  command.examples = {"cairn history fashion_mnist_cnn | tail",
                      "cairn history fashion_mnist_cnn --json > history.jsonl"};
  command.add_flags = [flags](FlagSet* set) {
    flags->AddJob(set);
    flags->AddJson(set);
    flags->AddCluster(set);
  };
  command.run = [flags](const CommandContext& context) { return PrintHistory(*flags, context); };
  return command;
}

}  // namespace cairn::cli
