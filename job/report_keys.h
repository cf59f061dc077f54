#ifndef CAIRN_JOB_REPORT_KEYS_H_
#define CAIRN_JOB_REPORT_KEYS_H_

#include <string_view>

#include "absl/status/status.h"
#include "proto/job.pb.h"

namespace cairn::job {

// Whether the JSON reports on a job (`cairn status`, `history`, `evaluate`) use `name` as a key of
// their own. Metrics are reported beside these keys under their own names, so no metric may have
// such a name.
bool IsReportKey(std::string_view name);

// InvalidArgument: a metric of the job has the name of another one or of a report's key, or a
// control character in its name. Begins with the field.
absl::Status CheckMetricNames(const proto::Job& job);

}  // namespace cairn::job

#endif  // CAIRN_JOB_REPORT_KEYS_H_
