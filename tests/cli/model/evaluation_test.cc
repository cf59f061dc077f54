#include "cli/model/evaluation.h"

#include <sys/stat.h>

#include <filesystem>

#include "cli/files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/example_job.h"

namespace cairn::cli {
namespace {

using ::testing::HasSubstr;

// What the real worker computes stands in tests/worker/offline_evaluation_test.cc; here a script
// stands for it.
class EvaluationTest : public testing::Test {
 protected:
  EvaluationTest() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    options_.temporary_folder = testing::TempDir() + "/evaluation_" + test->name();
    std::filesystem::create_directories(options_.temporary_folder);
  }

  absl::StatusOr<proto::EvaluationRecord> EvaluateWith(const std::string& script) {
    options_.worker_program = testing::TempDir() + "/evaluation_worker";
    EXPECT_TRUE(WriteFile(options_.worker_program, "#!/bin/sh\n" + script + "\n").ok());
    EXPECT_EQ(chmod(options_.worker_program.c_str(), 0755), 0);
    return Evaluate({ExamplePlan(), ExampleManifest(), ExampleValues()}, options_);
  }

  EvaluationOptions options_;
};

TEST_F(EvaluationTest, TheWorkerGetsTheValuesAndItsErrorIsTheResult) {
  // EvaluationResult.error = "15 floats", on the wire: field 1, length 9.
  const auto result = EvaluateWith(
      "folder=$(dirname $2); size=$(stat -c %s $folder/values); "
      "[ $1 = --evaluate ] && printf '\\012\\011%s floats' $((size / 4)) > $folder/result");
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("15 floats"));
  EXPECT_TRUE(std::filesystem::is_empty(options_.temporary_folder));
}

TEST_F(EvaluationTest, AWorkerThatEndsIsQuoted) {
  const auto result = EvaluateWith("echo out of luck; exit 7");
  EXPECT_THAT(std::string(result.status().message()),
              HasSubstr("ended with exit code 7: out of luck"));
}

TEST_F(EvaluationTest, AFolderThatCannotBeMadeIsNamed) {
  options_.temporary_folder = "/no/such/folder";
  EXPECT_THAT(std::string(EvaluateWith("exit 0").status().message()), HasSubstr("/no/such/folder"));
}

}  // namespace
}  // namespace cairn::cli
