#ifndef CAIRN_CLI_PROFILE_CHROME_TRACE_H_
#define CAIRN_CLI_PROFILE_CHROME_TRACE_H_

#include <string>

#include "proto/coordinator.pb.h"

namespace cairn::cli {

// The profile in Chrome's trace event format (JSON object format, complete events "X", times in
// microseconds), for chrome://tracing and Perfetto. Each task is a process, and its spans are
// nested. Times of different hosts are as accurate as their clocks.
std::string ChromeTrace(const proto::ProfileReply& profile);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_PROFILE_CHROME_TRACE_H_
