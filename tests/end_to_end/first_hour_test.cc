// The first steps of a new user: check the machine, write a job, train it, and view the result.

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST(FirstHour, TheDoctorFindsTheDaemonsAndAFitMachine) {
  TemporaryFolder folder;
  const CommandResult result = RunCairn({"doctor", "--state", folder.path("state"), "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.output;
  std::vector<std::string> subjects;
  for (const json& check : result.lines()) {
    subjects.push_back(check.at("subject"));
    EXPECT_NE(check.at("level"), "fail") << check.dump();
    EXPECT_EQ(check.at("level") == "ok", check.at("fix") == "") << check.dump();
  }
  EXPECT_THAT(subjects, ::testing::ElementsAre("coordinator", "ps_server", "worker", "libraries",
                                               "processor", "memory", "descriptors", "disk room",
                                               "disk sync", "loopback", "GPU"));
}

TEST(FirstHour, TheJobOfInitTrainsAndIsEvaluatedAsItWasInTraining) {
  TemporaryFolder folder;
  const std::string state = folder.path("state");
  ASSERT_EQ(RunCairn({"init", folder.path("mine")}).exit_code, 0);
  const std::string job = folder.path("mine/job.json");
  const CommandResult run = RunCairn({"run", job, "--state", state, "--ps", "1"});
  ASSERT_EQ(run.exit_code, 0) << run.output << run.errors;

  const json trained = RunCairn({"history", "spirals", "--state", state, "--json"}).lines().back();
  EXPECT_GT(trained.at("accuracy"), 0.95) << trained.dump();
  const CommandResult evaluated = RunCairn({"evaluate", "spirals", "--state", state, "--json"});
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.errors;
  const json line = evaluated.lines().at(0);
  EXPECT_EQ(line.at("examples"), 1200);
  EXPECT_EQ(line.at("accuracy"), trained.at("accuracy"));
  // With more threads, sums may be added in another order.
  EXPECT_NEAR(line.at("loss"), trained.at("loss"), 1e-6);

  const auto checkpoints = RunCairn({"checkpoints", "spirals", "--state", state, "--json"}).lines();
  const CommandResult older =
      RunCairn({"evaluate", "spirals", "--state", state, "--json", "--data", "train",
                "--checkpoint", checkpoints.at(0).at("checkpoint").dump()});
  ASSERT_EQ(older.exit_code, 0) << older.errors;
  EXPECT_EQ(older.lines().at(0).at("examples"), 6000);
  const CommandResult gone =
      RunCairn({"evaluate", "spirals", "--state", state, "--data",
                R"({"npy": {"features": "/gone.npy", "labels": "/gone.npy"}})"});
  EXPECT_EQ(gone.exit_code, 2);
  EXPECT_THAT(gone.errors, HasSubstr("/gone.npy"));
}

TEST(FirstHour, AnExportThatCannotBeWrittenIsRefusedBeforeTheTraining) {
  TemporaryFolder folder;
  ASSERT_EQ(RunCairn({"init", folder.path("mine")}).exit_code, 0);
  const CommandResult run = RunCairn({"run", folder.path("mine/job.json"), "--state",
                                      folder.path("state"), "--export", "/proc/model"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.errors, HasSubstr("/proc/model"));
  EXPECT_EQ(run.output, "") << "nothing was started";
}

}  // namespace
}  // namespace cairn::testing
