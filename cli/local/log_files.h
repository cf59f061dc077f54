#ifndef CAIRN_CLI_LOCAL_LOG_FILES_H_
#define CAIRN_CLI_LOCAL_LOG_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace cairn::cli {

// The log file of a task of a local cluster: "coordinator", "ps-0", "worker-1", or "cairn" for the
// process that supervises them.
std::string LogFile(const std::string& state, const std::string& task);

// Makes the folder of the logs. Unavailable: its disk does not answer.
absl::Status MakeLogFolder(const std::string& state);

// The tasks that have a log file: coordinator, cairn, then ps and workers by number.
// PermissionDenied: the folder of the logs cannot be read.
absl::StatusOr<std::vector<std::string>> LoggedTasks(const std::string& state);

// Bounds the log of a daemon that appends to it: a file of more than `bytes_max` is copied to
// FILE.1, in place of an older copy, and emptied. A line that is written in between is lost.
// Without room for the copy the file stays as it is.
void RotateLog(const std::string& file, uint64_t bytes_max);

struct LogLine {
  std::string task;
  std::string text;
};

// Sorts lines by the times with which daemons begin them (RFC 3339). The lines of each task must be
// consecutive and in order. A line without a time stays behind the line before it of the same task.
// Lines with equal times keep their order.
void SortByTime(std::vector<LogLine>* lines);

// Reads a log file while another process appends to it. Not thread-safe.
class LogTail {
 public:
  explicit LogTail(std::string file) : file_(std::move(file)) {}

  // The last `count` lines of the file; fewer if it has fewer or does not exist. Reads only the end
  // of the file.
  std::vector<std::string> LastLines(size_t count);

  // The complete lines that were appended since the last call of any of these functions. A file
  // that has become shorter is read from its beginning.
  std::vector<std::string> NewLines();

  // Makes NewLines start at the current end of the file.
  void SkipToEnd();

 private:
  const std::string file_;
  int64_t position_ = 0;  // Lines before this offset were returned.
};

}  // namespace cairn::cli

#endif  // CAIRN_CLI_LOCAL_LOG_FILES_H_
