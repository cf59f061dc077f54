#include "cli/progress.h"

#include <algorithm>
#include <ostream>
#include <vector>

#include "cli/progress_text.h"
#include "cli/status_json.h"

namespace cairn::cli {
namespace {

using Style = ProgressOptions::Style;

constexpr char kClearLine[] = "\r\x1b[2K";
constexpr char kBold[] = "\x1b[1m";
constexpr char kNormal[] = "\x1b[0m";

}  // namespace

Progress::Progress(const ProgressOptions& options, std::ostream* out)
    : options_(options), out_(out) {}

void Progress::Update(const proto::JobStatus& status, absl::Duration now) {
  if (options_.style == Style::kQuiet) return;
  MutexLock lock(&mutex_);
  if (has_ended_) return;
  // The first status is displayed, but not the events before it.
  const auto events = has_status_ ? NewEvents(last_, status) : std::vector<std::string>();
  const bool is_news =
      !has_status_ || status.state() != last_.state() ||
      (status.state() != proto::RUNNING && status.waiting_for() != last_.waiting_for()) ||
      (options_.style == Style::kJson && !events.empty());
  const bool is_due = is_news || now - last_written_ >= options_.plain_interval;
  if (options_.style != Style::kJson) {
    for (const std::string& event : events) WriteEvent(event);
  }
  WriteStatus(status, is_due);
  if (is_due) last_written_ = now;
  has_status_ = true;
  last_ = status;
  out_->flush();
}

void Progress::Note(const std::string& line) {
  if (options_.style == Style::kQuiet || options_.style == Style::kJson) return;
  MutexLock lock(&mutex_);
  WriteEvent(line);
  if (line_is_live_) *out_ << last_line_;
  out_->flush();
}

void Progress::End() {
  MutexLock lock(&mutex_);
  ClearLine();
  has_ended_ = true;
  out_->flush();
}

void Progress::ClearLine() {
  if (line_is_live_) *out_ << kClearLine;
  line_is_live_ = false;
}

void Progress::WriteEvent(const std::string& line) {
  const bool was_live = line_is_live_;
  ClearLine();
  // The caller writes the live line again, below the event.
  line_is_live_ = was_live;
  if (options_.color) {
    *out_ << kBold << line << kNormal << "\n";
  } else {
    *out_ << line << "\n";
  }
}

void Progress::WriteJson(const proto::JobStatus& status) {
  proto::JobStatus news = status;
  // After a rollback there may be fewer evaluations than before.
  const int known = std::min(evaluations_written_, status.evaluations_size());
  news.mutable_evaluations()->DeleteSubrange(0, known);
  evaluations_written_ = status.evaluations_size();
  *out_ << StatusJson(news).dump() << "\n";
}

void Progress::WriteStatus(const proto::JobStatus& status, bool is_due) {
  if (options_.style == Style::kJson) {
    if (is_due) WriteJson(status);
    return;
  }
  // The caller reports how the job ended.
  if (HasEnded(status.state())) return ClearLine();
  if (options_.style == Style::kPlain) {
    if (is_due) *out_ << ProgressLine(status, 0) << "\n";
    return;
  }
  // One column less than the terminal: a line that wraps cannot be rewritten.
  const std::string line = ProgressLine(status, std::max(1, options_.width - 1));
  ClearLine();
  *out_ << line;
  last_line_ = line;
  line_is_live_ = true;
}

}  // namespace cairn::cli
