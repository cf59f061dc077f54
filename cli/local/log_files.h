#ifndef CAIRN_CLI_LOCAL_LOG_FILES_H_
#define CAIRN_CLI_LOCAL_LOG_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace cairn::cli {

// Where a task of a local cluster ("coordinator", "ps-0", "worker-1", or "cairn" for who watches
// over them) has its log.
std::string LogFile(const std::string& state, const std::string& task);

// The tasks that have one: coordinator, cairn, then ps and workers by number. PermissionDenied: the
// folder of the logs may not be read.
absl::StatusOr<std::vector<std::string>> LoggedTasks(const std::string& state);

struct LogLine {
  std::string task;
  std::string text;
};

// Sorts lines, which stand task by task, by the times with which daemons begin them (RFC 3339). A
// line without one stays behind the one before it of its task; equal times keep their order.
void SortByTime(std::vector<LogLine>* lines);

// Reads a log that somebody else appends to. Not thread-safe.
class LogTail {
 public:
  explicit LogTail(std::string file) : file_(std::move(file)) {}

  // The last `count` lines that are there now; fewer if there are fewer, or no file. Reads no more
  // of the file than its end.
  std::vector<std::string> LastLines(size_t count);

  // The whole lines that came since the last call of either function. A file that has become
  // shorter is read from its beginning.
  std::vector<std::string> NewLines();

  // NewLines begins with what comes from now on.
  void SkipToEnd();

 private:
  const std::string file_;
  int64_t position_ = 0;  // Up to here its lines were answered.
};

}  // namespace cairn::cli

#endif  // CAIRN_CLI_LOCAL_LOG_FILES_H_
