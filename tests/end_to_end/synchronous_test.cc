// Synchronous training: the result depends neither on how many workers there are nor on who dies.

#include <signal.h>

#include <random>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/arrays.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kInputs = 20;
constexpr int kClasses = 4;

json DenseLayer(const std::string& name, int units, const std::string& activation) {
  return {{"class_name", "Dense"},
          {"config", {{"name", name}, {"units", units}, {"activation", activation}}}};
}

// Learnable noise: the class is the quarter that holds the largest sum.
std::string WriteJob(const std::string& folder) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  const int64_t examples = 4000;
  Array x{{examples, kInputs}, {}};
  Array y{{examples}, {}};
  for (int64_t i = 0; i < examples; ++i) {
    double best = -1e9;
    int label = 0;
    for (int c = 0; c < kClasses; ++c) {
      double sum = 0;
      for (int j = 0; j < kInputs / kClasses; ++j) {
        x.values.push_back(normal(random));
        sum += x.values.back();
      }
      if (sum > best) {
        best = sum;
        label = c;
      }
    }
    y.values.push_back(static_cast<float>(label));
  }
  WriteFile(folder + "/x.npy", EncodeNpy(x));
  WriteFile(folder + "/y.npy", EncodeNpy(y));
  json first = DenseLayer("first", 32, "relu");
  first["config"]["batch_input_shape"] = {nullptr, kInputs};
  const json dropout = {{"class_name", "Dropout"},
                        {"config", {{"name", "dropout"}, {"rate", 0.2}}}};
  const json model = {
      {"class_name", "Sequential"},
      {"config",
       {{"name", "mlp"}, {"layers", {first, dropout, DenseLayer("last", kClasses, "softmax")}}}}};
  WriteFile(folder + "/model.json", model.dump());
  const json job = {
      {"name", "sync"},
      {"model", "model.json"},
      {"train", {{"npy", {{"features", "x.npy"}, {"labels", "y.npy"}}}}},
      {"loss", "sparse_categorical_crossentropy"},
      {"metrics", {"accuracy"}},
      {"optimizer", {{"name", "adam"}, {"learning_rate", 0.01}}},
      {"batch_size", 16},
      {"epochs", 12},
      {"seed", 5},
      {"strategy", {{"parameter_server", {{"mode", "sync"}, {"batches_per_update", 4}}}}},
      {"partitioner", {{"min_slice_bytes", 64}}}};
  WriteFile(folder + "/job.json", job.dump());
  return folder + "/job.json";
}

std::map<std::string, Array> TrainOn(int workers, bool kill_workers) {
  TestCluster cluster(/*ps_count=*/2, workers);
  cluster.StartAll();
  const std::string job = WriteJob(cluster.folder("."));
  const CommandResult submitted = cluster.Cairn({"submit", job});
  EXPECT_EQ(submitted.exit_code, 0) << submitted.errors;
  std::mt19937 random(3);
  for (int kills = 0; kill_workers && kills < 4; ++kills) {
    std::this_thread::sleep_for(milliseconds(200 + random() % 300));
    const int index = static_cast<int>(random() % workers);
    cluster.task("worker", index).Kill();
    cluster.Start("worker", index);
  }
  const json status = cluster.WaitForEnd("sync", seconds(120));
  EXPECT_EQ(status.value("state", ""), "finished") << status << cluster.Logs();
  EXPECT_EQ(status.value("workers_lost", 0) > 0, kill_workers) << status;
  const CommandResult exported =
      cluster.Cairn({"export", "sync", "--output", cluster.folder("export")});
  EXPECT_EQ(exported.exit_code, 0) << exported.errors;
  return ReadTfjsWeights(cluster.folder("export"));
}

void ExpectSameBits(const std::map<std::string, Array>& a, const std::map<std::string, Array>& b) {
  ASSERT_EQ(a.size(), 4u);
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, array] : a) {
    ASSERT_TRUE(b.contains(name));
    EXPECT_EQ(array.values, b.at(name).values) << name;
  }
}

TEST(Synchronous, WeightsAreTheSameBitsWithOneTwoAndFiveWorkersAndWhenWorkersDie) {
  const auto one = TrainOn(1, false);
  ExpectSameBits(one, TrainOn(2, false));
  ExpectSameBits(one, TrainOn(5, false));
  ExpectSameBits(one, TrainOn(3, /*kill_workers=*/true));
}

}  // namespace
}  // namespace cairn::testing
