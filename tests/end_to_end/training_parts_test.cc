// Every optimizer, with schedules, clipping and averages, and metrics that are not means, on a real
// cluster: the result does not depend on the number of ps.

#include <cmath>
#include <random>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/arrays.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;

constexpr int kInputs = 12;
constexpr int64_t kExamples = 640;

// Whether the sum of the first half of the inputs is larger than that of the second.
void WriteData(const std::string& folder) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  Array x{{kExamples, kInputs}, {}}, y{{kExamples, 1}, {}};
  for (int64_t i = 0; i < kExamples; ++i) {
    float difference = 0;
    for (int j = 0; j < kInputs; ++j) {
      x.values.push_back(normal(random));
      difference += (j < kInputs / 2 ? 1 : -1) * x.values.back();
    }
    y.values.push_back(difference > 0 ? 1 : 0);
  }
  WriteFile(folder + "/x.npy", EncodeNpy(x));
  WriteFile(folder + "/y.npy", EncodeNpy(y));
}

void WriteModel(const std::string& folder) {
  const auto dense = [](const std::string& name, int units, const std::string& activation) {
    return json{{"class_name", "Dense"},
                {"config", {{"name", name}, {"units", units}, {"activation", activation}}}};
  };
  json first = dense("first", 24, "relu");
  first["config"]["batch_input_shape"] = {nullptr, kInputs};
  const json model = {
      {"class_name", "Sequential"},
      {"config", {{"name", "mlp"}, {"layers", {first, dense("last", 1, "sigmoid")}}}}};
  WriteFile(folder + "/model.json", model.dump());
}

json Job(const std::string& name, const json& optimizer) {
  const json data = {{"npy", {{"features", "x.npy"}, {"labels", "y.npy"}}}};
  return {{"name", name},
          {"model", "model.json"},
          {"train", data},
          {"validation", data},
          {"loss", {{"name", "binary_crossentropy"}, {"label_smoothing", 0.02}}},
          {"metrics",
           {"accuracy", "precision", "auc", {{"name", "auc"}, {"curve", "PR"}, {"as", "pr_auc"}}}},
          {"optimizer", optimizer},
          {"batch_size", 16},
          {"epochs", 3},
          {"seed", 5},
          {"strategy", {{"parameter_server", {{"mode", "sync"}, {"batches_per_update", 2}}}}},
          {"partitioner", {{"min_slice_bytes", 64}}}};
}

std::vector<json> Jobs() {
  const json decay = {{"name", "exponential_decay"},
                      {"initial_learning_rate", 0.02},
                      {"decay_steps", 20},
                      {"decay_rate", 0.8},
                      {"warmup_steps", 5}};
  const json optimizers = {
      {{"name", "sgd"}, {"learning_rate", 0.2}, {"momentum", 0.9}, {"clipvalue", 0.05}},
      {{"name", "adam"}, {"learning_rate", decay}, {"amsgrad", true}},
      {{"name", "adamw"}, {"learning_rate", 0.01}, {"use_ema", true}, {"ema_momentum", 0.8}},
      {{"name", "nadam"}, {"learning_rate", 0.01}},
      {{"name", "adamax"}, {"learning_rate", 0.02}, {"weight_decay", 0.01}},
      {{"name", "adagrad"}, {"learning_rate", 0.1}},
      {{"name", "adadelta"}, {"learning_rate", 1}, {"epsilon", 0.001}},
      {{"name", "rmsprop"}, {"learning_rate", 0.01}, {"centered", true}, {"momentum", 0.5}},
      {{"name", "ftrl"}, {"learning_rate", 0.2}, {"l1_regularization_strength", 0.0001}},
      {{"name", "lion"}, {"learning_rate", 0.005}},
      {{"name", "lamb"}, {"learning_rate", 0.02}}};
  std::vector<json> jobs;
  for (const json& optimizer : optimizers) {
    jobs.push_back(Job(optimizer["name"].get<std::string>(), optimizer));
  }
  return jobs;
}

void ExpectLearned(const json& status) {
  const std::string what = status.dump();
  ASSERT_EQ(status.value("state", ""), "finished") << what;
  const auto& evaluations = status["evaluations"];
  ASSERT_EQ(evaluations.size(), 3u) << what;
  const json& last = evaluations.back();
  EXPECT_LT(last["loss"], 0.65) << what;
  EXPECT_GT(last["accuracy"], 0.7) << what;
  for (const char* metric : {"precision", "auc", "pr_auc"}) {
    EXPECT_GT(last[metric], 0.6) << what;
    EXPECT_LE(last[metric], 1) << what;
  }
}

// The trained weights, by job.
std::map<std::string, std::map<std::string, Array>> TrainOn(int ps) {
  TestCluster cluster(ps, /*worker_count=*/2);
  cluster.StartAll();
  const std::string folder = cluster.folder(".");
  WriteData(folder);
  WriteModel(folder);
  for (const json& job : Jobs()) {
    const std::string file = folder + "/" + job["name"].get<std::string>() + ".json";
    WriteFile(file, job.dump());
    const CommandResult submitted = cluster.Cairn({"submit", file});
    EXPECT_EQ(submitted.exit_code, 0) << submitted.errors;
  }
  std::map<std::string, std::map<std::string, Array>> weights;
  for (const json& job : Jobs()) {
    const auto name = job["name"].get<std::string>();
    ExpectLearned(cluster.WaitForEnd(name, seconds(120)));
    const std::string output = cluster.folder("export_" + name);
    const CommandResult exported = cluster.Cairn({"export", name, "--output", output});
    EXPECT_EQ(exported.exit_code, 0) << exported.errors;
    weights[name] = ReadTfjsWeights(output);
  }
  return weights;
}

TEST(TrainingParts, EveryOptimizerLearnsAndGivesTheSameBitsOnOneAndOnThreePs) {
  const auto one = TrainOn(1);
  const auto three = TrainOn(3);
  for (const auto& [job, weights] : one) {
    ASSERT_EQ(weights.size(), 4u) << job;
    for (const auto& [name, array] : weights) {
      EXPECT_EQ(array.values, three.at(job).at(name).values) << job << " " << name;
    }
  }
}

}  // namespace
}  // namespace cairn::testing
