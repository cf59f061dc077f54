// Evaluators of a local cluster: they evaluate the epochs in place of the workers, with the same
// results, and whether one lives or not changes nothing else.

#include <signal.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/adam_job.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kEpochs = 8;

class Evaluator : public ::testing::Test {
 protected:
  // A job that evaluates its training data after each epoch.
  std::string WriteJob(const json& strategy) {
    std::filesystem::create_directories(folder_.path("job"));
    const std::string file =
        WriteAdamJob(folder_.path("job"), {.epochs = kEpochs, .strategy = strategy});
    json job = json::parse(ReadFile(file));
    job["validation"] = job.at("train");
    WriteFile(file, job.dump());
    return file;
  }

  std::string state(const std::string& run) const { return folder_.path(run); }

  // The evaluations of `cairn run`, by epoch.
  std::map<int64_t, json> EvaluationsOf(const std::string& run,
                                        const std::vector<std::string>& more,
                                        const json& strategy = nullptr) {
    std::vector<std::string> arguments = {"run", WriteJob(strategy), "--json", "--state",
                                          state(run)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const CommandResult result = RunCairn(arguments, seconds(300));
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    std::map<int64_t, json> evaluations;
    for (const json& line : result.lines()) {
      for (const json& evaluation : line.value("evaluations", json::array())) {
        EXPECT_FALSE(evaluations.contains(evaluation.at("epoch"))) << "evaluated twice";
        evaluations[evaluation.at("epoch")] = evaluation;
      }
    }
    EXPECT_EQ(evaluations.size(), static_cast<size_t>(kEpochs));
    return evaluations;
  }

  void ExpectEqual(const std::map<int64_t, json>& a, const std::map<int64_t, json>& b) {
    for (const auto& [epoch, evaluation] : a) {
      ASSERT_TRUE(b.contains(epoch));
      for (const char* name : {"loss", "accuracy", "examples"}) {
        EXPECT_EQ(evaluation.at(name), b.at(epoch).at(name)) << name << " of epoch " << epoch;
      }
    }
  }

  TemporaryFolder folder_;
};

TEST_F(Evaluator, ItsResultsAreThoseOfTheWorkers) {
  const auto by_workers = EvaluationsOf("workers", {});
  ExpectEqual(by_workers, EvaluationsOf("evaluators", {"--evaluators", "2"}));
  const json mirrored = {{"multi_worker_mirrored", {{"batches_per_update", 4}}}};
  ExpectEqual(by_workers, EvaluationsOf("without-ps", {"--evaluators", "1"}, mirrored));
}

TEST_F(Evaluator, KilledAgainAndAgainItComesBackAndNoEvaluationIsMissing) {
  const auto by_workers = EvaluationsOf("workers", {});
  std::atomic<bool> over = false;
  int kills = 0;
  std::thread killer([&] {
    pid_t last = 0;
    while (!over) {
      std::this_thread::sleep_for(milliseconds(50));
      std::ifstream stream(state("killed") + "/cluster.json");
      const json file = json::parse(stream, nullptr, /*allow_exceptions=*/false);
      if (file.is_discarded() || !file.contains("pids")) continue;
      const pid_t pid = file.at("pids").value("evaluator-0", 0);
      // Each process lives long enough to join and to evaluate.
      if (pid == 0 || pid == last) continue;
      std::this_thread::sleep_for(milliseconds(700));
      if (over) break;
      last = pid;
      if (kill(pid, SIGKILL) == 0) ++kills;
    }
  });
  const auto killed = EvaluationsOf("killed", {"--evaluators", "1"});
  over = true;
  killer.join();
  EXPECT_GE(kills, 2) << "the run was too short for this test";
  ExpectEqual(by_workers, killed);
}

}  // namespace
}  // namespace cairn::testing
