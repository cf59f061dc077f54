#ifndef CAIRN_CLI_PROGRESS_H_
#define CAIRN_CLI_PROGRESS_H_

#include <iosfwd>
#include <string>

#include "absl/time/time.h"
#include "common/mutex.h"
#include "proto/coordinator.pb.h"

namespace cairn::cli {

struct ProgressOptions {
  enum class Style {
    kLive,   // For a terminal: one line that is rewritten, events above it.
    kPlain,  // For a file or a pipe: a line every `plain_interval`, and one per event.
    // The status as an object, every `plain_interval` and at every event. It contains only the
    // evaluations since the last line.
    kJson,
    kQuiet,  // Nothing.
  };
  Style style = Style::kPlain;
  bool color = false;
  int width = 80;  // Columns of the terminal.
  absl::Duration plain_interval = absl::Seconds(5);
};

// Displays the progress of a job on a stream. Thread-safe: each call writes whole lines.
class Progress {
 public:
  // `out` must outlive it.
  Progress(const ProgressOptions& options, std::ostream* out);
  ~Progress() { End(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Displays the job's new status, and the events since the last one. `now` is a monotonic time.
  void Update(const proto::JobStatus& status, absl::Duration now);

  // Writes a separate line. Does nothing in JSON, where every line is an object.
  void Note(const std::string& line);

  // Removes the live line, so that others may write to the stream. Ignores later updates.
  void End();

 private:
  void ClearLine() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteEvent(const std::string& line) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteStatus(const proto::JobStatus& status, bool is_due)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  void WriteJson(const proto::JobStatus& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ProgressOptions options_;
  Mutex mutex_;
  std::ostream* const out_ ABSL_PT_GUARDED_BY(mutex_);
  bool line_is_live_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_status_ ABSL_GUARDED_BY(mutex_) = false;
  proto::JobStatus last_ ABSL_GUARDED_BY(mutex_);
  int evaluations_written_ ABSL_GUARDED_BY(mutex_) = 0;  // In JSON.
  std::string last_line_ ABSL_GUARDED_BY(mutex_);
  absl::Duration last_written_ ABSL_GUARDED_BY(mutex_) = -absl::InfiniteDuration();
};

}  // namespace cairn::cli

#endif  // CAIRN_CLI_PROGRESS_H_
