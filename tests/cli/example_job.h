#ifndef CAIRN_TESTS_CLI_EXAMPLE_JOB_H_
#define CAIRN_TESTS_CLI_EXAMPLE_JOB_H_

#include <string>
#include <vector>

#include "proto/checkpoint.pb.h"
#include "proto/coordinator.pb.h"
#include "proto/job.pb.h"
#include "proto/journal.pb.h"

namespace cairn::cli {

// A finished job for the tests of `cairn`: a dense layer from 4 to 3, on two ps, after two epochs
// of three batches. The report of the fifth batch was lost. Its validation data have scale 2.

// The model in Keras's format.
std::string ExampleModelJson();
// The kernel is 0, 1, ... 11 in row-major order, the bias 100, 200, 300.
std::vector<std::vector<float>> ExampleValues();
proto::JobPlan ExamplePlan();
proto::JobStatus ExampleStatus();
proto::Manifest ExampleManifest();
std::vector<proto::BatchRecord> ExampleBatches();
proto::EvaluationRecord ExampleEvaluation();

// Writes the state directory of a cluster on which this job has finished, or is in another state.
void WriteExampleState(const std::string& state, proto::JobState job_state = proto::FINISHED);

}  // namespace cairn::cli

#endif  // CAIRN_TESTS_CLI_EXAMPLE_JOB_H_
