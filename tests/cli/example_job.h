#ifndef CAIRN_TESTS_CLI_EXAMPLE_JOB_H_
#define CAIRN_TESTS_CLI_EXAMPLE_JOB_H_

#include <string>
#include <vector>

#include "proto/checkpoint.pb.h"
#include "proto/coordinator.pb.h"
#include "proto/job.pb.h"
#include "proto/journal.pb.h"

namespace cairn::cli {

// One finished job for the tests of `cairn`: a dense layer from 4 to 3, on two ps, after two epochs
// of three batches of which the report of the fifth was lost. Its validation data have scale 2.

// As Keras writes it.
std::string ExampleModelJson();
// kernel: 0, 1, ... 11, row-major; bias: 100, 200, 300.
std::vector<std::vector<float>> ExampleValues();
proto::JobPlan ExamplePlan();
proto::JobStatus ExampleStatus();
proto::Manifest ExampleManifest();
std::vector<proto::BatchRecord> ExampleBatches();
proto::EvaluationRecord ExampleEvaluation();

// Makes `state` the directory of a cluster that has finished this job, or left it in another state.
void WriteExampleState(const std::string& state, proto::JobState job_state = proto::FINISHED);

}  // namespace cairn::cli

#endif  // CAIRN_TESTS_CLI_EXAMPLE_JOB_H_
