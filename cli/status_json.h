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

// The objects that --json prints, one per line. Doubles have enough digits to be read back with the
// same bits. Numbers that are not finite are null.

using storage::StateName;

// Finished, failed or cancelled.
bool HasEnded(proto::JobState state);

// The state of a job for people: "rejected" for a job that failed before it started, else
// StateName.
std::string StateText(const proto::JobStatus& status);

nlohmann::ordered_json StatusJson(const proto::JobStatus& status);
// StatusJson with the field "cluster_up".
nlohmann::ordered_json FoundStatusJson(const proto::JobStatus& status, bool cluster_up);
nlohmann::ordered_json CheckpointJson(const proto::Manifest& manifest);
// The number of ps that have each snapshot of the checkpoint: the minimum over its parts.
int CopiesOf(const proto::Manifest& manifest);
// True if the task has joined the current process of the coordinator.
bool HasJoined(const proto::Member& member);
// "live", "away" or "not yet" (it has never joined). `term` is the coordinator's. After a restart
// the coordinator does not know which tasks had joined before, so it reports "away" for them.
std::string MemberState(const proto::Member& member, uint64_t term);
// Values that are known only of live tasks are null for others.
nlohmann::ordered_json MemberJson(const proto::Member& member, uint64_t term);
// One evaluation. `metric_names` are the names of its metrics, in order.
nlohmann::ordered_json EvaluationJson(
    const proto::EvaluationRecord& evaluation,
    const google::protobuf::RepeatedPtrField<std::string>& metric_names);

// `value`, or null if it is not finite.
nlohmann::ordered_json NumberJson(double value);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_STATUS_JSON_H_
