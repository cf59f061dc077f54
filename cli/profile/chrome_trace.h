#ifndef CAIRN_CLI_PROFILE_CHROME_TRACE_H_
#define CAIRN_CLI_PROFILE_CHROME_TRACE_H_

#include <string>

#include "proto/coordinator.pb.h"

namespace cairn::cli {

// The profile in Chrome's trace event format (JSON object form: complete events "X", times in
// microseconds), as chrome://tracing and Perfetto read it: a process for each task, its spans one
// inside the other. Times of different hosts are as close as their calendars are.
std::string ChromeTrace(const proto::ProfileReply& profile);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_PROFILE_CHROME_TRACE_H_
