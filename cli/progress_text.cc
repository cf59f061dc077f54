#include "cli/progress_text.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/status_json.h"
#include "common/plural.h"

namespace cairn::cli {
namespace {

std::string Bar(int64_t done, int64_t total) {
  constexpr int kWidth = 20;
  const int64_t filled = total <= 0 ? 0 : std::clamp<int64_t>(done * kWidth / total, 0, kWidth);
  std::string bar(filled, '=');
  if (filled < kWidth) bar += '>';
  bar.resize(kWidth, ' ');
  return absl::StrCat("[", bar, "] ");
}

std::vector<std::pair<std::string, double>> Means(const proto::JobStatus& status) {
  std::vector<std::pair<std::string, double>> metrics;
  for (const auto& metric : status.metrics()) metrics.emplace_back(metric.name(), metric.value());
  return metrics;
}

// Four decimals, or four significant digits if the value is very small or very large.
std::string ValueText(double value) {
  if (std::isnan(value)) return "nan";  // printf would show the sign.
  const double size = std::abs(value);
  const bool is_plain = value == 0 || (size >= 1e-3 && size < 1e6);
  return is_plain ? absl::StrFormat("%.4f", value) : absl::StrFormat("%.4g", value);
}

// The line of a job that does not train: its state and the reason.
std::string WaitingLine(const proto::JobStatus& status) {
  std::string line = StateName(status.state());
  if (!status.waiting_for().empty()) absl::StrAppend(&line, ": waiting ", status.waiting_for());
  return line;
}

void AddCheckpointEvents(const proto::JobStatus& before, const proto::JobStatus& after,
                         std::vector<std::string>* events) {
  if (after.last_checkpoint() > before.last_checkpoint()) {
    events->push_back(absl::StrCat("checkpoint ", after.last_checkpoint(), " written"));
  }
  if (after.checkpoints_failed() > before.checkpoints_failed()) {
    events->push_back(
        absl::StrCat("a checkpoint failed, training continues: ", after.checkpoint_error()));
  }
  if (after.copies_failed() > before.copies_failed()) {
    events->push_back(
        absl::StrCat("a checkpoint lacks a copy, training continues: ", after.copy_error()));
  }
}

// The parts of the line after the number of the batch.
std::vector<std::string> ProgressParts(const proto::JobStatus& status) {
  std::vector<std::string> parts;
  if (status.batches_done() > 0) {
    parts.push_back(LossText(status.loss(), Means(status)));
    if (status.learning_rate() > 0) {
      parts.push_back(absl::StrFormat("lr %.4g", status.learning_rate()));
    }
    if (status.examples_per_second() > 0) {
      parts.push_back(CountText(status.examples_per_second()) + " examples/s");
      parts.push_back("ETA " + DurationText(status.eta_seconds()));
    }
  }
  parts.push_back(Plural(status.workers_live(), "worker"));
  if (!status.waiting_for().empty()) {
    parts.push_back("waiting " + status.waiting_for());
  } else if (status.evaluating()) {
    parts.push_back("evaluating");
  }
  return parts;
}

bool SameNote(const proto::Note& a, const proto::Note& b) {
  return a.unix_seconds() == b.unix_seconds() && a.text() == b.text();
}

// The age in the unit that leaves about two digits.
std::string AgeText(int64_t seconds) {
  constexpr int64_t kMinute = 60;
  constexpr int64_t kHour = 60 * kMinute;
  constexpr int64_t kDay = 24 * kHour;
  if (seconds < 100) return absl::StrCat(seconds, " s");
  if (seconds < 100 * kMinute) return absl::StrCat(seconds / kMinute, " min");
  if (seconds < 2 * kDay) return absl::StrCat(seconds / kHour, " h");
  return absl::StrCat(seconds / kDay, " days");
}

// The number of notes of `after` that `before` has too. A job keeps only its newest notes, so they
// are the last ones of `before` and the first ones of `after`.
int KnownNotes(const proto::JobStatus& before, const proto::JobStatus& after) {
  for (int known = before.notes_size(); known > 0; --known) {
    const bool same = known <= after.notes_size() &&
                      std::equal(after.notes().begin(), after.notes().begin() + known,
                                 before.notes().end() - known, SameNote);
    if (same) return known;
  }
  return 0;
}

}  // namespace

std::string DurationText(double seconds) {
  constexpr double kTooLong = 1e9;
  if (!std::isfinite(seconds) || seconds < 0 || seconds > kTooLong) return "-";
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 3600) return absl::StrFormat("%d:%02d", whole / 60, whole % 60);
  return absl::StrFormat("%d:%02d:%02d", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string TimeText(int64_t unix_seconds) {
  if (unix_seconds <= 0) return "-";
  const time_t time = unix_seconds;
  tm local{};
  localtime_r(&time, &local);
  char text[32];
  return std::string(text, std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local));
}

std::string NoteText(const proto::Note& note, int64_t now_unix_seconds) {
  // The coordinator's clock may be ahead of this machine's.
  const int64_t age = std::max<int64_t>(0, now_unix_seconds - note.unix_seconds());
  return absl::StrCat(TimeText(note.unix_seconds()), " (", AgeText(age), " ago)  ", note.text());
}

std::string CountText(double count) {
  if (count < 1000) return absl::StrFormat("%.0f", count);
  if (count < 1e6) return absl::StrFormat("%.3gk", count / 1e3);
  return absl::StrFormat("%.3gM", count / 1e6);
}

std::string LossText(double loss, const std::vector<std::pair<std::string, double>>& metrics) {
  std::string text = "loss " + ValueText(loss);
  for (const auto& [name, value] : metrics) {
    absl::StrAppend(&text, "  ", name, " ", ValueText(value));
  }
  return text;
}

std::string EvaluationText(const proto::EvaluationRecord& evaluation,
                           const google::protobuf::RepeatedPtrField<std::string>& metric_names) {
  std::vector<std::pair<std::string, double>> metrics;
  for (int i = 0; i < std::min(evaluation.metrics_size(), metric_names.size()); ++i) {
    metrics.emplace_back(metric_names[i], evaluation.metrics(i));
  }
  return LossText(evaluation.loss(), metrics);
}

std::string ProgressLine(const proto::JobStatus& status, int width) {
  if (status.state() != proto::RUNNING || status.batches_per_epoch() == 0) {
    return WaitingLine(status).substr(0, width <= 0 ? std::string::npos : width);
  }
  const auto parts = ProgressParts(status);
  const std::string batches =
      absl::StrCat(status.batch_in_epoch(), "/", status.batches_per_epoch());
  const std::string epoch = absl::StrCat("epoch ", status.epoch() + 1, "/", status.epochs(), " ");
  const std::string plain = absl::StrCat(epoch, batches, "  ", absl::StrJoin(parts, "  "));
  if (width <= 0) return plain;
  const std::string bar = Bar(status.batch_in_epoch(), status.batches_per_epoch());
  if (static_cast<int>(plain.size() + bar.size()) <= width) {
    return absl::StrCat(epoch, bar, batches, "  ", absl::StrJoin(parts, "  "));
  }
  if (static_cast<int>(plain.size()) <= width) return plain;
  std::string tight = absl::StrReplaceAll(plain, {{"  ", " "}, {"examples/s", "ex/s"}});
  if (static_cast<int>(tight.size()) > width) tight.resize(width);
  return tight;
}

std::string CheckpointsText(const proto::JobStatus& status) {
  if (status.last_checkpoint() > 0) return absl::StrCat("last ", status.last_checkpoint());
  return HasEnded(status.state()) ? "none" : "none yet";
}

std::string NothingOf(const std::string& what, const proto::JobStatus& status) {
  return absl::StrCat(what, " of job ", status.job_id(), " (", status.name(), ")",
                      HasEnded(status.state()) ? "" : " yet", ": it is ", StateName(status.state()),
                      ".\n");
}

std::vector<std::string> NewEvents(const proto::JobStatus& before, const proto::JobStatus& after) {
  std::vector<std::string> events;
  for (int i = before.evaluations_size(); i < after.evaluations_size(); ++i) {
    const auto& evaluation = after.evaluations(i);
    events.push_back(
        absl::StrCat("epoch ", evaluation.epoch() + 1, "/", after.epochs(),
                     " validated: ", EvaluationText(evaluation, after.metric_names())));
  }
  // Notes follow the evaluations, because callbacks note their decisions about them.
  for (int i = KnownNotes(before, after); i < after.notes_size(); ++i) {
    events.push_back(after.notes(i).text());
  }
  // Workers that join before the first batch are not reported. Lost workers and rollbacks are in
  // the coordinator's notes.
  const int64_t joined = after.workers_joined() - before.workers_joined();
  if (before.batches_done() > 0 && joined > 0) {
    events.push_back(absl::StrCat(Plural(joined, "worker"), " joined"));
  }
  AddCheckpointEvents(before, after, &events);
  return events;
}

}  // namespace cairn::cli
