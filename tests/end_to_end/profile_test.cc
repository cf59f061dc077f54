// `cairn profile` of a running job on real daemons.

#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/counting_job.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;
using ::testing::HasSubstr;

class ProfileTest : public ::testing::Test {
 protected:
  ProfileTest() : cluster_(2, 2) { cluster_.StartAll(); }

  // A job that outlasts the test.
  void Train() {
    CountingJob job;
    job.batches_per_epoch = 100000;
    job.batches = 50 * job.batches_per_epoch;
    job.batch_size = 1;
    const CommandResult result =
        cluster_.Cairn({"submit", WriteCountingJob(job, cluster_.folder("job"))});
    ASSERT_EQ(result.exit_code, 0) << result.errors;
    ASSERT_TRUE(WaitUntil(seconds(60), [&] {
      const json status = cluster_.Status("count");
      return status.value("batches_done", 0) > 100 && status.value("workers_live", 0) == 2;
    }));
  }

  TestCluster cluster_;
};

TEST_F(ProfileTest, EveryTaskSaysWhereItsTimeWent) {
  ASSERT_NO_FATAL_FAILURE(Train());
  const std::string trace = cluster_.folder("trace.json");
  const CommandResult result =
      cluster_.Cairn({"profile", "count", "--steps", "20", "--json", "--trace", trace});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  std::set<std::string> tasks;
  for (const json& task : result.lines()) {
    tasks.insert(task["task"]);
    const bool is_worker = task["steps"] > 0;
    EXPECT_EQ(task["phases"].size(), is_worker ? 6 : 3) << task;
    EXPECT_EQ(task["layers"].size() >= 2, is_worker) << task;  // The layer and the loss.
    double sum = 0;
    for (const json& phase : task["phases"]) {
      EXPECT_GT(phase["count"], 0) << task;
      sum += phase["seconds"].get<double>();
    }
    if (!is_worker) continue;
    EXPECT_EQ(task["steps"], 20);
    EXPECT_NEAR(sum, task["seconds"].get<double>(), 1e-9);
  }
  EXPECT_EQ(tasks, (std::set<std::string>{"worker 0", "worker 1", "ps 0", "ps 1"}));
  const json events = json::parse(ReadFile(trace))["traceEvents"];
  EXPECT_GT(events.size(), 2 * 20 * 6);
}

TEST_F(ProfileTest, ATableIsForPeopleAndAJobThatDoesNotTrainIsRefused) {
  const CommandResult unknown = cluster_.Cairn({"profile", "count"});
  EXPECT_EQ(unknown.exit_code, 2);
  ASSERT_NO_FATAL_FAILURE(Train());
  const CommandResult result = cluster_.Cairn({"profile", "count", "--steps", "5"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("worker 0: 5 steps"));
  EXPECT_THAT(result.output, HasSubstr("compute"));
  EXPECT_THAT(result.output, HasSubstr("ps 1:"));
  ASSERT_EQ(cluster_.Cairn({"cancel", "count"}).exit_code, 0);
  const CommandResult refused = cluster_.Cairn({"profile", "count"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("does not train now"));
}

}  // namespace
}  // namespace cairn::testing
