#include "cli/find_cluster.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "cli/local/cluster_file.h"
#include "cli/local/last_cluster.h"
#include "cli/local/state_lock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/example_job.h"
#include "tests/cli/fake_cluster.h"

namespace cairn::cli {
namespace {

using ::testing::HasSubstr;

std::string StateFolder() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  return testing::TempDir() + "/find_cluster_" + test->name();
}

ClusterChoice Impatient() {
  ClusterChoice choice;
  choice.patience = absl::Milliseconds(100);
  return choice;
}

TEST(FindClusterTest, FlagIsStrongerThanTfConfig) {
  ClusterChoice choice = Impatient();
  choice.tf_config =
      R"({"cluster": {"chief": ["10.0.0.1:5"], "ps": ["10.0.0.2:5"], "worker": ["10.0.0.3:5"]}})";
  EXPECT_EQ((*FindCoordinator(choice))->address(), "10.0.0.1:5");
  choice.coordinator = "10.0.0.9:5";
  EXPECT_EQ((*FindCoordinator(choice))->address(), "10.0.0.9:5");
}

TEST(FindClusterTest, WrongAddressAndWrongTfConfigAreRefused) {
  ClusterChoice choice = Impatient();
  choice.tf_config = "{}";
  const auto wrong = FindCoordinator(choice).status();
  EXPECT_EQ(wrong.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(wrong.message()), HasSubstr("correct or unset TF_CONFIG"));
  choice.coordinator = "nonsense";
  const auto status = FindCoordinator(choice).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("--coordinator"));
}

TEST(FindClusterTest, WithoutAnyNameTheErrorSaysHowToGiveOne) {
  const auto status = FindCoordinator(Impatient()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("--coordinator HOST:PORT"));
  EXPECT_EQ(FindSource(Impatient()).status().code(), absl::StatusCode::kUnavailable);
}

TEST(FindClusterTest, StateOfAClusterThatIsDownIsReadFromTheDisk) {
  ClusterChoice choice = Impatient();
  choice.state = StateFolder();
  WriteExampleState(choice.state);
  const auto found = FindSource(choice);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->api, nullptr);
  EXPECT_EQ(found->state, choice.state);
  EXPECT_EQ(found->source->GetJob("example")->state(), proto::FINISHED);
  EXPECT_THAT(std::string(FindCoordinator(choice).status().message()),
              HasSubstr("no cluster runs on the state directory"));
}

TEST(FindClusterTest, StateOfARunningClusterIsAskedOfTheCluster) {
  FakeCluster cluster;
  ClusterChoice choice = Impatient();
  choice.patience = absl::Seconds(20);
  choice.state = StateFolder();
  const auto lock = StateLock::Take(choice.state, "cairn up");
  ASSERT_TRUE(lock.ok()) << lock.status();
  ClusterFile file;
  file.coordinator = cluster.address();
  ASSERT_TRUE(WriteClusterFile(choice.state, file).ok());
  EXPECT_EQ((*FindCoordinator(choice))->address(), cluster.address());
  EXPECT_NE(FindSource(choice)->api, nullptr);
}

TEST(FindClusterTest, FindsTheClusterOfTheLastUpFromAnyFolder) {
  const std::string folder = StateFolder();
  ClusterChoice choice = Impatient();
  choice.user_folder = folder + "/user";
  ASSERT_TRUE(RememberLastCluster(choice.user_folder, folder + "/state").ok());
  EXPECT_EQ(FindSource(choice).status().code(), absl::StatusCode::kUnavailable) << "it is gone";
  WriteExampleState(folder + "/state");
  EXPECT_EQ((*FindSource(choice)).source->GetJob("example")->state(), proto::FINISHED);
  EXPECT_EQ(*FindState(choice), folder + "/state");

  const auto lock = StateLock::Take(folder + "/state", "cairn up");
  ClusterFile file;
  file.coordinator = "127.0.0.1:5";
  ASSERT_TRUE(WriteClusterFile(folder + "/state", file).ok());
  EXPECT_EQ((*FindCoordinator(choice))->address(), "127.0.0.1:5");
  choice.coordinator = "127.0.0.1:6";
  EXPECT_EQ(FindState(choice).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(FindClusterTest, TheClusterOfARunIsKnownAsOne) {
  ClusterChoice choice = Impatient();
  choice.state = StateFolder();
  EXPECT_FALSE(IsOfARun(choice)) << "nothing runs";
  for (const char* command : {"cairn run", "cairn up"}) {
    const auto lock = StateLock::Take(choice.state, command);
    ASSERT_TRUE(lock.ok()) << lock.status();
    EXPECT_EQ(IsOfARun(choice), std::string(command) == "cairn run");
  }
  const auto lock = StateLock::Take(choice.state, "cairn run");
  choice.coordinator = "127.0.0.1:5";
  EXPECT_FALSE(IsOfARun(choice)) << "an address says nothing of it";
}

TEST(FindClusterTest, CommandsNameAStateThatTheyWouldNotFind) {
  const std::string folder = StateFolder();
  ClusterChoice choice;
  EXPECT_EQ(StateFlag(folder, choice), " --state " + folder);
  choice.user_folder = folder + "/user";
  WriteExampleState(folder + "/state");
  ASSERT_TRUE(RememberLastCluster(choice.user_folder, folder + "/state").ok());
  EXPECT_EQ(StateFlag(folder + "/state", choice), "");
  EXPECT_EQ(StateFlag(folder + "/user/../state", choice), "");
  EXPECT_EQ(StateFlag(folder + "/other", choice), " --state " + folder + "/other");
  choice.tf_config = "{}";
  EXPECT_EQ(StateFlag(folder + "/state", choice), " --state " + folder + "/state");
}

TEST(FindClusterTest, StateFlagIsOmittedOnlyIfTheClusterIsFoundWithoutIt) {
  const std::string folder = StateFolder();
  std::filesystem::create_directories(folder + "/here");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder + "/here");
  ClusterChoice choice;
  choice.user_folder = folder + "/user";
  WriteExampleState(folder + "/state");
  ASSERT_TRUE(RememberLastCluster(choice.user_folder, folder + "/state").ok());
  {
    const auto run = StateLock::Take(kDefaultState, "cairn run");
    EXPECT_EQ(StateFlag(kDefaultState, choice), "");
    const auto up = StateLock::Take(folder + "/state", "cairn up");
    EXPECT_EQ(StateFlag(kDefaultState, choice), absl::StrCat(" --state ", kDefaultState));
  }
  // In the other case kDefaultState is found without flags when both clusters are down.
  const auto up = StateLock::Take(folder + "/state", "cairn up");
  EXPECT_EQ(StateFlag(folder + "/state", choice), " --state " + folder + "/state");
  std::filesystem::current_path(before);
}

TEST(FindClusterTest, AJobWhoseClusterIsJustBeingStartedIsNotStopped) {
  ClusterChoice choice = Impatient();
  choice.state = StateFolder();
  WriteExampleState(choice.state, proto::RUNNING);
  auto lock = StateLock::Take(choice.state, "cairn up");
  const auto found = FindSource(choice);
  ASSERT_TRUE(found.ok()) << found.status();
  const proto::JobStatus job = *found->source->GetJob("example");
  EXPECT_TRUE(IsUp(*found));
  EXPECT_FALSE(IsStopped(*found, job));
  lock->reset();
  EXPECT_FALSE(IsUp(*found));
  EXPECT_TRUE(IsStopped(*found, job));
}

TEST(FindClusterTest, RunWhoseCoordinatorIsAwayIsReadFromTheDisk) {
  ClusterChoice choice = Impatient();
  choice.state = StateFolder();
  WriteExampleState(choice.state);
  const auto lock = StateLock::Take(choice.state, "cairn up");
  ClusterFile file;
  file.coordinator = "127.0.0.1:1";
  ASSERT_TRUE(WriteClusterFile(choice.state, file).ok());
  const auto found = FindSource(choice);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->api, nullptr);
}

}  // namespace
}  // namespace cairn::cli
