#include "cli/model/offline_task.h"

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/example_job.h"
#include "tests/cli/worker_script.h"

namespace cairn::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Outputs = std::vector<std::vector<float>>;

class OfflineTaskTest : public testing::Test {
 protected:
  OfflineTaskTest() : folder_(testing::TempDir() + "/temporary_folder") {
    std::filesystem::create_directories(folder_);
    options_.environment = {"PATH=/usr/bin:/bin", "TMPDIR=" + folder_};
  }

  absl::StatusOr<proto::EvaluationResult> RunWith(const std::string& script,
                                                  Outputs* outputs = nullptr) {
    options_.worker_program = testing::TempDir() + "/offline_worker";
    WriteWorkerScript(options_.worker_program, script);
    return RunOfflineTask({ExamplePlan(), ExampleManifest(), ExampleValues()}, options_, outputs);
  }

  const std::string folder_;
  OfflineOptions options_;
};

TEST_F(OfflineTaskTest, TheWorkerGetsTheValuesAndItsErrorIsTheResult) {
  // EvaluationResult.error = "15 floats", on the wire: field 1, length 9.
  const auto result = RunWith(
      "size=$(stat -Lc %s $values); "
      "[ $mode = --evaluate ] && printf '\\012\\011%s floats' $((size / 4)) > $result");
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("15 floats"));
}

TEST_F(OfflineTaskTest, OutputsAreReadAsFloats) {
  // EvaluationResult.outputs[0].shape = (1, 2), on the wire: field 3, 4 bytes: field 2, packed, 2
  // bytes.
  Outputs outputs;
  const auto result = RunWith(
      "printf '\\000\\000\\200\\077\\000\\000\\000\\100' > $output; "
      "printf '\\032\\004\\022\\002\\001\\002' > $result",
      &outputs);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(outputs, ElementsAre(ElementsAre(1, 2)));
  EXPECT_THAT(result->outputs(0).shape(), ElementsAre(1, 2));
}

TEST_F(OfflineTaskTest, AResultWithoutTheOutputsIsNone) {
  Outputs outputs;
  EXPECT_EQ(RunWith(": > $result", &outputs).status(),
            absl::InternalError("the worker's result cannot be read"));
}

TEST_F(OfflineTaskTest, AWorkerThatEndsIsQuotedAndTheTemporaryFolderIsEmptyMeanwhile) {
  const auto result = RunWith("ls -A " + folder_ + " | wc -l; echo out of luck; exit 7");
  EXPECT_THAT(std::string(result.status().message()),
              HasSubstr("ended with exit code 7: 0\nout of luck"));
}

TEST_F(OfflineTaskTest, APlanIsCompletedByTheWorker) {
  options_.worker_program = testing::TempDir() + "/offline_inspector";
  // EvaluationResult.plan.examples = 7, on the wire: field 4, 2 bytes: field 6. The only path is
  // that of the result, and the next byte of the task is the tag of `inspects`: a 0.
  WriteWorkerScript(options_.worker_program, "printf '\\042\\002\\060\\007' > ${values%0}");
  const auto plan = InspectOffline(ExamplePlan(), options_);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->examples(), 7);
  WriteWorkerScript(options_.worker_program, ": > ${values%0}");
  EXPECT_EQ(InspectOffline(ExamplePlan(), options_).status(),
            absl::InternalError("the worker's result cannot be read"));
}

TEST_F(OfflineTaskTest, ATemporaryFolderThatIsNotThereIsNamed) {
  options_.environment = {"TMPDIR=/no/such/folder"};
  EXPECT_THAT(std::string(RunWith("exit 0").status().message()), HasSubstr("/no/such/folder"));
}

}  // namespace
}  // namespace cairn::cli
