#include "cli/profile/chrome_trace.h"

#include <algorithm>
#include <limits>

#include "cluster/tf_config.h"
#include "nlohmann/json.hpp"

namespace cairn::cli {
namespace {

using nlohmann::ordered_json;

// The begin of the first span, which becomes time 0 of the trace: a double cannot represent
// nanoseconds since 1970.
int64_t FirstUnixNanoseconds(const proto::ProfileReply& profile) {
  int64_t first = std::numeric_limits<int64_t>::max();
  for (const auto& task : profile.tasks()) {
    for (const auto& span : task.spans()) {
      first = std::min(first, task.unix_nanoseconds() + span.begin_nanoseconds());
    }
  }
  return first;
}

ordered_json ProcessName(int process, const proto::ProfileReport& task) {
  return {{"name", "process_name"},
          {"ph", "M"},
          {"pid", process},
          {"args", {{"name", cluster::TaskName(task.role(), task.index())}}}};
}

ordered_json Event(int process, const proto::ProfileReport& task, const proto::ProfileSpan& span,
                   int64_t zero) {
  const proto::ProfileName& name = task.names(static_cast<int>(span.name()));
  ordered_json event = {
      {"name", name.name()},
      {"cat", name.kind()},
      {"ph", "X"},
      {"ts", static_cast<double>(task.unix_nanoseconds() + span.begin_nanoseconds() - zero) / 1e3},
      {"dur", static_cast<double>(span.nanoseconds()) / 1e3},
      {"pid", process},
      {"tid", span.thread()}};
  if (span.batch() >= 0) event["args"] = {{"batch", span.batch()}};
  return event;
}

}  // namespace

std::string ChromeTrace(const proto::ProfileReply& profile) {
  const int64_t zero = FirstUnixNanoseconds(profile);
  ordered_json events = ordered_json::array();
  for (int process = 0; process < profile.tasks_size(); ++process) {
    const proto::ProfileReport& task = profile.tasks(process);
    events.push_back(ProcessName(process, task));
    for (const proto::ProfileSpan& span : task.spans()) {
      if (static_cast<int>(span.name()) >= task.names_size()) continue;
      events.push_back(Event(process, task, span, zero));
    }
  }
  return ordered_json{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}}.dump();
}

}  // namespace cairn::cli
