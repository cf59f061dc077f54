// A job of two models in every mode, while tasks are killed. Each model counts the updates of its
// objective, one of which is computed in every second update only.

#include <cstdint>
#include <string>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/counting_job.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;

struct Mode {
  std::string name;
  json strategy;
  int ps = 2;
  int64_t batches_per_update = 1;
};

json Objective(const std::string& model, int every) {
  // The gradient of every weight is exactly 1.
  const json loss = {{"of", model + "(data)"}, {"target", -1e30}, {"loss", "mean_absolute_error"}};
  return {{"trains", {model}},
          {"optimizer", {{"name", "sgd"}, {"learning_rate", 1.0}}},
          {"every", every},
          {"losses", json::array({loss})}};
}

class Models : public ::testing::TestWithParam<Mode> {
 protected:
  Models() : cluster_(GetParam().ps, /*worker_count=*/2) {
    job_.batches = 8000;
    job_.rows = 64;
  }

  void Submit() {
    WriteCountingJob(job_, cluster_.folder("job"));
    const json file = {{"name", "count"},
                       {"models", {{"each", "model.json"}, {"second", "model.json"}}},
                       {"objectives", {Objective("each", 1), Objective("second", 2)}},
                       {"train", {{"npy", {{"features", "x.npy"}}}}},
                       {"batch_size", job_.batch_size},
                       {"epochs", job_.batches / job_.batches_per_epoch},
                       {"checkpoint", {{"every_steps", 500}}},
                       {"partitioner", {{"min_slice_bytes", 16}}},
                       {"strategy", GetParam().strategy}};
    WriteFile(cluster_.folder("job/models.json"), file.dump());
    const CommandResult result = cluster_.Cairn({"submit", cluster_.folder("job/models.json")});
    ASSERT_EQ(result.exit_code, 0) << result.output << result.errors;
  }

  void TrainOn(int64_t batches) {
    const auto done = [&] { return cluster_.Status("count").value("batches_done", int64_t{0}); };
    const int64_t end = done() + batches;
    ASSERT_TRUE(WaitUntil(seconds(60), [&] { return done() >= end; }))
        << cluster_.Status("count") << cluster_.Logs();
  }

  void Kill(const std::string& type, int index) {
    cluster_.task(type, index).Kill();
    cluster_.Start(type, index);
  }

  std::string CountIsNotOf(const std::string& model, int64_t updates) {
    const std::string folder = cluster_.folder(model);
    const CommandResult result =
        cluster_.Cairn({"export", "count", "--model", model, "--output", folder});
    if (result.exit_code != 0) return result.errors;
    return CountIsNot(static_cast<double>(updates), folder, job_.rows);
  }

  TestCluster cluster_;
  CountingJob job_;
};

TEST_P(Models, CountTheUpdatesOfTheirObjectivesUnderKills) {
  cluster_.StartAll();
  ASSERT_NO_FATAL_FAILURE(Submit());
  ASSERT_NO_FATAL_FAILURE(TrainOn(600));
  Kill("worker", 0);
  ASSERT_NO_FATAL_FAILURE(TrainOn(600));
  if (GetParam().ps > 0) Kill("ps", 1);
  ASSERT_NO_FATAL_FAILURE(TrainOn(600));
  Kill("worker", 1);
  Kill("chief", 0);
  const json status = cluster_.WaitForEnd("count", seconds(240));
  EXPECT_EQ(status.value("state", ""), "finished") << status << cluster_.Logs();
  EXPECT_EQ(status.value("rollbacks", -1), GetParam().ps > 0 ? 1 : 0) << status;
  const int64_t updates = job_.batches / GetParam().batches_per_update;
  EXPECT_EQ(CountIsNotOf("each", updates), "");
  EXPECT_EQ(CountIsNotOf("second", updates / 2), "");
}

json Strategy(const std::string& name, const json& fields) { return {{name, fields}}; }

INSTANTIATE_TEST_SUITE_P(
    EveryMode, Models,
    ::testing::Values(
        Mode{"async", Strategy("parameter_server", {{"mode", "async"}})},
        Mode{"stale", Strategy("parameter_server", {{"mode", "stale"}, {"window", 4}})},
        Mode{"sync", Strategy("parameter_server", {{"mode", "sync"}, {"batches_per_update", 4}}), 2,
             4},
        Mode{"mirrored", Strategy("multi_worker_mirrored", {{"batches_per_update", 4}}), 0, 4}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace cairn::testing
