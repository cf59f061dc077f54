// Evaluators of a local cluster: they evaluate the epochs in place of the workers, with the same
// results, and whether one lives or not changes nothing else.

#include <signal.h>

#include <algorithm>
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

constexpr int kEpochs = 20;

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

// An evaluator that is started by hand, as on another machine.
TEST_F(Evaluator, ItEndsAfterTheEvaluationsThatItWasToldOrWithItsJob) {
  for (const int max : {3, 1000}) {
    const std::string state = this->state("up-" + std::to_string(max));
    ASSERT_EQ(RunCairn({"up", "--state", state, "--ps", "1", "--workers", "1"}).exit_code, 0);
    const json cluster = json::parse(ReadFile(state + "/cluster.json"));
    Process::Options options;
    options.arguments = {ProgramPath("worker/worker"), "--max_evaluations", std::to_string(max)};
    options.environment["TF_CONFIG"] = json{{"cluster",
                                             {{"chief", {cluster.at("coordinator")}},
                                              {"ps", cluster.at("ps")},
                                              {"worker", cluster.at("workers")}}},
                                            {"task", {{"type", "evaluator"}, {"index", 0}}}}
                                           .dump();
    options.output_file = folder_.path("evaluator.log");
    Process evaluator(options);
    EXPECT_TRUE(WaitUntil(seconds(60), [&] {
      const auto members = RunCairn({"cluster", "--state", state, "--json"}).lines();
      return std::any_of(members.begin(), members.end(), [](const json& member) {
        return member.value("role", "") == "evaluator" && member.value("state", "") == "live";
      });
    })) << ReadFile(options.output_file);
    EXPECT_EQ(RunCairn({"submit", WriteJob(nullptr), "--state", state, "--follow"}, seconds(300))
                  .exit_code,
              0);
    EXPECT_EQ(evaluator.Wait(seconds(60)), 0) << ReadFile(options.output_file);
    const std::string log = ReadFile(options.output_file);
    EXPECT_NE(log.find(max == 3 ? "it has made 3 evaluations" : "its job has ended"),
              std::string::npos)
        << log;
    EXPECT_EQ(RunCairn({"down", "--state", state}).exit_code, 0);
  }
}

}  // namespace
}  // namespace cairn::testing
