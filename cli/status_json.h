#ifndef CAIRN_CLI_STATUS_JSON_H_
#define CAIRN_CLI_STATUS_JSON_H_

#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "proto/checkpoint.pb.h"
#include "proto/coordinator.pb.h"
#include "proto/job.pb.h"
#include "storage/job_records.h"

namespace cairn::cli {

// What --json prints, one object a line; doubles so that they read back to the same bits, and null
// for a number that is not finite.

using storage::StateName;

// Finished, failed or cancelled.
bool HasEnded(proto::JobState state);

// The job's state for people: as StateName, but "rejected" for one that failed before it began.
std::string StateText(const proto::JobStatus& status);

nlohmann::ordered_json StatusJson(const proto::JobStatus& status);
// The same, and whether a cluster is up to which the job belongs.
nlohmann::ordered_json FoundStatusJson(const proto::JobStatus& status, bool cluster_up);
nlohmann::ordered_json CheckpointJson(const proto::Manifest& manifest);
// On how many ps every snapshot of it lies.
int CopiesOf(const proto::Manifest& manifest);
// Whether it has joined this process of the coordinator.
bool HasJoined(const proto::Member& member);
// "live", "away" or "not yet". `term`: the coordinator's. A later one does not know who had joined
// those before it: what it has not heard of is away, and not "not yet".
std::string MemberState(const proto::Member& member, uint64_t term);
// Null: what is not known of a task that is not live.
nlohmann::ordered_json MemberJson(const proto::Member& member, uint64_t term);
// One evaluation; `metric_names` name its metrics.
nlohmann::ordered_json EvaluationJson(
    const proto::EvaluationRecord& evaluation,
    const google::protobuf::RepeatedPtrField<std::string>& metric_names);

// `value`, or null if it is not finite.
nlohmann::ordered_json NumberJson(double value);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_STATUS_JSON_H_
