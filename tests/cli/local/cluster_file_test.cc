#include "cli/local/cluster_file.h"

#include "cli/files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace cairn::cli {
namespace {

using ::testing::HasSubstr;

ClusterFile SomeCluster() {
  return {"127.0.0.1:1", {"127.0.0.1:2", "127.0.0.1:3"}, {"127.0.0.1:4"}, {"127.0.0.1:5"}, 77,
          {{"ps-0", 78}}};
}

TEST(ClusterFileTest, AWrittenFileIsReadBack) {
  const std::string state = testing::TempDir() + "/cluster_file_test";
  ASSERT_TRUE(WriteClusterFile(state, SomeCluster()).ok());
  const auto read = ReadClusterFile(state);
  ASSERT_TRUE(read.ok() && read->has_value()) << read.status();
  EXPECT_EQ((*read)->coordinator, "127.0.0.1:1");
  EXPECT_EQ((*read)->ps, SomeCluster().ps);
  EXPECT_EQ((*read)->workers, SomeCluster().workers);
  EXPECT_EQ((*read)->evaluators, SomeCluster().evaluators);
  EXPECT_EQ((*read)->cairn_pid, 77);
  EXPECT_EQ((*read)->pids, SomeCluster().pids);
}

TEST(ClusterFileTest, AFileOfAnOlderVersionHasNoEvaluators) {
  const std::string state = testing::TempDir() + "/cluster_file_test_older";
  ASSERT_TRUE(WriteFile(state + "/cluster.json", R"({"coordinator": "127.0.0.1:1", "ps": [],
      "workers": ["127.0.0.1:4"], "cairn_pid": 7, "pids": {}})")
                  .ok());
  const auto read = ReadClusterFile(state);
  ASSERT_TRUE(read.ok() && read->has_value()) << read.status();
  EXPECT_EQ((*read)->evaluators, std::vector<std::string>());
}

TEST(ClusterFileTest, NoFileIsNotAnError) {
  const auto read = ReadClusterFile("/no/such/state");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_FALSE(read->has_value());
}

TEST(ClusterFileTest, DamagedFileIsNamed) {
  const std::string state = testing::TempDir() + "/cluster_file_test_damaged";
  for (const char* text : {R"({"coordinator": 5})", "{", ""}) {
    ASSERT_TRUE(WriteFile(state + "/cluster.json", text).ok());
    EXPECT_THAT(std::string(ReadClusterFile(state).status().message()),
                HasSubstr(state + "/cluster.json is damaged"));
  }
}

TEST(ClusterFileTest, TfConfigHasTensorFlowsGrammar) {
  const auto config = nlohmann::json::parse(SomeCluster().TfConfig("ps", 1));
  EXPECT_EQ(config, nlohmann::json::parse(R"({
    "cluster": {"chief": ["127.0.0.1:1"], "ps": ["127.0.0.1:2", "127.0.0.1:3"],
                "worker": ["127.0.0.1:4"], "evaluator": ["127.0.0.1:5"]},
    "task": {"type": "ps", "index": 1}})"));
}

}  // namespace
}  // namespace cairn::cli
