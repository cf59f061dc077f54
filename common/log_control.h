#ifndef CAIRN_COMMON_LOG_CONTROL_H_
#define CAIRN_COMMON_LOG_CONTROL_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/logging.h"

// The log of a process at its start and its end, when a disk or the reader of a pipe may hang.
// Thread-safe.
namespace cairn {

// After InitLogging: adds the file of `options`. Until it is open the log goes to standard error
// only. Unavailable: the file cannot be opened.
absl::Status LogToFile(const LogOptions& options);

// Writes `text` to standard error as it is, after the lines of the log. Waits for a write that
// hangs no longer than a line does.
void WriteToStandardError(std::string text);

// Waits until all lines so far are written. False if that takes longer than `limit`. Then exit()
// would hang, too: it flushes standard error.
bool FlushLog(absl::Duration limit);

}  // namespace cairn

#endif  // CAIRN_COMMON_LOG_CONTROL_H_
