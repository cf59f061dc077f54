#include "worker/compute_threads.h"

#include "gtest/gtest.h"

namespace cairn::worker {
namespace {

int ShareOf(const std::string& task, int cores) {
  const auto config = cluster::ParseTfConfig(R"({"cluster": {
      "chief": ["a:1"], "ps": ["a:2"], "worker": ["a:3", "a:4", "b:3"], "evaluator": ["c:3"]},
      "task": )" + task + "}");
  EXPECT_TRUE(config.ok()) << config.status();
  return ShareOfCores(*config, cores);
}

TEST(ComputeThreadsTest, TheWorkersOfAMachineShareItsCores) {
  EXPECT_EQ(ShareOf(R"({"type": "worker", "index": 0})", 8), 4);
  EXPECT_EQ(ShareOf(R"({"type": "worker", "index": 1})", 7), 3);
  EXPECT_EQ(ShareOf(R"({"type": "worker", "index": 2})", 8), 8);
  EXPECT_EQ(ShareOf(R"({"type": "evaluator", "index": 0})", 6), 6);
}

TEST(ComputeThreadsTest, EveryWorkerHasOneThreadAtLeast) {
  EXPECT_EQ(ShareOf(R"({"type": "worker", "index": 0})", 1), 1);
}

TEST(ComputeThreadsTest, AnUnnamedTaskTakesOneThread) {
  cluster::TfConfig config;
  EXPECT_EQ(ShareOfCores(config, 8), 1);
}

TEST(ComputeThreadsTest, SynchronousJobsHaveOneThreadByDefault) {
  proto::JobPlan plan;
  EXPECT_EQ((ComputeThreads{.share = 4}).Of(plan), 4);
  EXPECT_EQ((ComputeThreads{.said = 3, .share = 4}).Of(plan), 3);
  plan.set_synchronous(true);
  EXPECT_EQ((ComputeThreads{.share = 4}).Of(plan), 1);
  EXPECT_EQ((ComputeThreads{.said = 3, .share = 4}).Of(plan), 3);
}

}  // namespace
}  // namespace cairn::worker
