#ifndef CAIRN_TESTS_WORKER_LINE_PLAN_H_
#define CAIRN_TESTS_WORKER_LINE_PLAN_H_

#include <string>
#include <vector>

#include "proto/coordinator.pb.h"
#include "proto/job.pb.h"
#include "worker/data/dataset.h"
#include "worker/job_data.h"

// Plans of jobs with a small model, for tests of the data. Failures are those of the test.

namespace cairn::worker {

proto::Inspect InspectOf(const proto::JobPlan& plan);

// The plan that the coordinator makes from an inspection.
proto::JobPlan Planned(proto::JobPlan plan);

JobData Open(const proto::JobPlan& plan);
std::string OpenError(const proto::JobPlan& plan);

// One input, one output, mean squared error. `job` has the other fields.
proto::JobPlan LinePlan(const std::string& job);

// Of all examples, the first input.
std::vector<float> InputsOf(const Dataset& data);

std::string Quoted(const std::string& path);

// The beginning of a job file: the numbers 0 to 9 as features and as labels.
std::string TenNumbers(const std::string& more);

// A data source: the numbers from `first` on as features and labels.
std::string NumbersFrom(int first, int count);
// A mixture of 4 and 8 numbers, of which the former are scaled. A weight is a further field.
std::string MixOf(const std::string& first_weight, const std::string& second_weight);

}  // namespace cairn::worker

#endif  // CAIRN_TESTS_WORKER_LINE_PLAN_H_
