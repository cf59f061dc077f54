#include "cli/model/evaluation.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/example_job.h"
#include "tests/cli/worker_script.h"

namespace cairn::cli {
namespace {

// A script takes the place of the worker.
absl::StatusOr<proto::EvaluationRecord> EvaluateWith(const std::string& result) {
  OfflineOptions options;
  options.worker_program = testing::TempDir() + "/evaluation_worker";
  WriteWorkerScript(options.worker_program, "printf '" + result + "' > $result");
  return Evaluate({ExamplePlan(), ExampleManifest(), ExampleValues()}, {.machine = options});
}

// EvaluationResult on the wire. Field 2 is the record, which has the number of examples.
TEST(EvaluationTest, TheRecordIsTheWorkers) {
  proto::EvaluationResult expected;
  expected.mutable_record()->set_examples(7);
  std::string octal;
  for (const char byte : expected.SerializeAsString()) {
    char text[8];
    snprintf(text, sizeof text, "\\%03o", static_cast<unsigned char>(byte));
    octal += text;
  }
  const auto record = EvaluateWith(octal);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->examples(), 7);
}

TEST(EvaluationTest, AnErrorSaysWhereTheDataWereRead) {
  // EvaluationResult.error = "no data", on the wire: field 1, length 7.
  const absl::Status status = EvaluateWith("\\012\\007no data").status();
  EXPECT_EQ(status,
            absl::InvalidArgumentError("no data (evaluate reads the data on this machine)"));
}

}  // namespace
}  // namespace cairn::cli
