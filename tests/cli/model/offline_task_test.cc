#include "cli/model/offline_task.h"

#include <sys/stat.h>

#include <filesystem>

#include "cli/files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/example_job.h"

namespace cairn::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What the real worker computes stands in tests/worker/offline_evaluation_test.cc; here a script
// stands for it.
using Outputs = std::vector<std::vector<float>>;

class OfflineTaskTest : public testing::Test {
 protected:
  OfflineTaskTest() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    options_.temporary_folder = testing::TempDir() + "/offline_" + test->name();
    std::filesystem::create_directories(options_.temporary_folder);
  }

  absl::StatusOr<proto::EvaluationResult> RunWith(const std::string& script,
                                                  Outputs* outputs = nullptr) {
    options_.worker_program = testing::TempDir() + "/offline_worker";
    EXPECT_TRUE(WriteFile(options_.worker_program, "#!/bin/sh\n" + script + "\n").ok());
    EXPECT_EQ(chmod(options_.worker_program.c_str(), 0755), 0);
    return RunOfflineTask({ExamplePlan(), ExampleManifest(), ExampleValues()}, options_, outputs);
  }

  OfflineOptions options_;
};

TEST_F(OfflineTaskTest, TheWorkerGetsTheValuesAndItsErrorIsTheResult) {
  // EvaluationResult.error = "15 floats", on the wire: field 1, length 9.
  const auto result = RunWith(
      "folder=$(dirname $2); size=$(stat -c %s $folder/values); "
      "[ $1 = --evaluate ] && printf '\\012\\011%s floats' $((size / 4)) > $folder/result");
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("15 floats"));
  EXPECT_TRUE(std::filesystem::is_empty(options_.temporary_folder));
}

TEST_F(OfflineTaskTest, OutputsAreReadAsFloats) {
  // EvaluationResult.outputs[0].shape = (1, 2), on the wire: field 3, 4 bytes: field 2, packed, 2
  // bytes.
  Outputs outputs;
  const auto result = RunWith(
      "folder=$(dirname $2); printf '\\000\\000\\200\\077\\000\\000\\000\\100' > "
      "$folder/output-0; printf '\\032\\004\\022\\002\\001\\002' > $folder/result",
      &outputs);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(outputs, ElementsAre(ElementsAre(1, 2)));
  EXPECT_THAT(result->outputs(0).shape(), ElementsAre(1, 2));
}

TEST_F(OfflineTaskTest, AResultWithoutTheOutputsIsNone) {
  Outputs outputs;
  EXPECT_EQ(RunWith(": > $(dirname $2)/result", &outputs).status(),
            absl::InternalError("the worker's result cannot be read"));
}

TEST_F(OfflineTaskTest, AWorkerThatEndsIsQuoted) {
  const auto result = RunWith("echo out of luck; exit 7");
  EXPECT_THAT(std::string(result.status().message()),
              HasSubstr("ended with exit code 7: out of luck"));
}

TEST_F(OfflineTaskTest, AFolderThatCannotBeMadeIsNamed) {
  options_.temporary_folder = "/no/such/folder";
  EXPECT_THAT(std::string(RunWith("exit 0").status().message()), HasSubstr("/no/such/folder"));
}

}  // namespace
}  // namespace cairn::cli
