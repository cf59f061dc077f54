// A job that resumes from another one with the state of its optimizer ends with the bits of a job
// that was not interrupted.

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/adam_job.h"
#include "tests/end_to_end/arrays.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;

class ContinuedOptimizer : public ::testing::Test {
 protected:
  // Trains the job without its dropout, whose draws depend on the number of the batch in the job.
  // Returns the trained weights.
  std::map<std::string, Array> Train(const std::string& name, const std::string& state,
                                     const json& fields) {
    const std::string folder = folder_.path(name);
    std::filesystem::create_directories(folder);
    const std::string file = WriteAdamJob(folder, {.name = name});
    json model = json::parse(ReadFile(folder + "/model.json"));
    std::erase_if(model["config"]["layers"].get_ref<json::array_t&>(),
                  [](const json& layer) { return layer["class_name"] == "Dropout"; });
    WriteFile(folder + "/model.json", model.dump());
    json job = json::parse(ReadFile(file));
    job["optimizer"]["learning_rate"] = {{"name", "exponential_decay"},
                                         {"initial_learning_rate", 0.01},
                                         {"decay_steps", 50},
                                         {"decay_rate", 0.5}};
    job.update(fields);
    WriteFile(file, job.dump());
    const CommandResult run =
        RunCairn({"run", file, "--state", folder_.path(state), "--export", folder + "/trained"},
                 seconds(120));
    EXPECT_EQ(run.exit_code, 0) << run.errors;
    return ReadTfjsWeights(folder + "/trained");
  }

  TemporaryFolder folder_;
};

TEST_F(ContinuedOptimizer, ATrainingInTwoJobsHasTheBitsOfOne) {
  const auto whole = Train("whole", "whole-state", {{"epochs", 2}});
  Train("first", "state", {{"epochs", 1}});
  const json second = {{"epochs", 2}, {"initial_epoch", 1}};
  json from = {{"name", "first"}, {"with_optimizer", true}};
  // From the ps of the same cluster.
  json job = second;
  job["resume_from"] = from;
  ExpectSameBits(whole, Train("second", "state", job));
  // From the disks of a cluster that is down, and into the replicas of one without ps.
  from["state"] = folder_.path("state");
  job["resume_from"] = from;
  job["strategy"] = {{"multi_worker_mirrored", {{"batches_per_update", 4}}}};
  ExpectSameBits(whole, Train("mirrored", "mirrored-state", job));
  // Without the state the training is another one.
  job["resume_from"].erase("with_optimizer");
  const auto anew = Train("anew", "mirrored-state", job);
  EXPECT_NE(anew.at("last/kernel").values, whole.at("last/kernel").values);
}

}  // namespace
}  // namespace cairn::testing
