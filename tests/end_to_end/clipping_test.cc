// Clipping by norm of updates from the batches of two workers, compared with a plain loop in double
// precision. The result has the same bits for any number of ps and after failures.

#include <signal.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/arrays.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;

constexpr int kInputs = 40;
constexpr int kUnits = 2;
// Batches of 4: the last update of each epoch has one batch of 2 examples.
constexpr int kExamples = 898;
constexpr int kBatch = 4;
constexpr int kEpochs = 16;
constexpr double kRate = 0.1;
// Far below the norm of every gradient: the values stay far from the solution.
constexpr double kLimit = 0.25;

struct Data {
  Array x{{kExamples, kInputs}, {}};
  Array y{{kExamples, kUnits}, {}};
};

Data MakeData() {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> line(kInputs * kUnits);
  for (float& weight : line) weight = 8 * normal(random);
  Data data;
  for (int i = 0; i < kExamples; ++i) {
    float y[kUnits] = {20, -30};
    for (int j = 0; j < kInputs; ++j) {
      const float x = normal(random);
      data.x.values.push_back(x);
      for (int u = 0; u < kUnits; ++u) y[u] += x * line[j * kUnits + u];
    }
    for (const float value : y) data.y.values.push_back(value + normal(random));
  }
  return data;
}

// Keras's Dense, mean_squared_error, SGD and clipping, implemented in the simplest way.
class PlainModel {
 public:
  PlainModel(const Data& data, bool global) : data_(data), global_(global) {}

  // Trains with `rows` examples for each update; an update does not extend over the end of an
  // epoch.
  void Train(int rows) {
    for (int epoch = 0; epoch < kEpochs; ++epoch) {
      for (int row = 0; row < kExamples; row += rows) {
        Update(row, std::min(row + rows, kExamples));
      }
    }
  }
  std::map<std::string, Array> weights() const {
    const auto floats = [](const std::vector<double>& values) {
      return std::vector<float>(values.begin(), values.end());
    };
    return {{"line/kernel", {{kInputs, kUnits}, floats(kernel_)}},
            {"line/bias", {{kUnits}, floats(bias_)}}};
  }

 private:
  static double SumOfSquares(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value * value;
    return sum;
  }
  static void Step(const std::vector<double>& gradient, double sum_of_squares,
                   std::vector<double>* values) {
    const double scale = kLimit / std::max(kLimit, std::sqrt(sum_of_squares));
    for (size_t i = 0; i < values->size(); ++i) (*values)[i] -= kRate * scale * gradient[i];
  }
  void Update(int begin, int end) {
    std::vector<double> kernel(kernel_.size()), bias(bias_.size());
    for (int i = begin; i < end; ++i) {
      const float* const x = &data_.x.values[i * kInputs];
      for (int u = 0; u < kUnits; ++u) {
        double error = bias_[u] - data_.y.values[i * kUnits + u];
        for (int j = 0; j < kInputs; ++j) error += kernel_[j * kUnits + u] * x[j];
        const double slope = 2 * error / (kUnits * (end - begin));
        for (int j = 0; j < kInputs; ++j) kernel[j * kUnits + u] += slope * x[j];
        bias[u] += slope;
      }
    }
    const double of_kernel = SumOfSquares(kernel), of_bias = SumOfSquares(bias);
    Step(kernel, global_ ? of_kernel + of_bias : of_kernel, &kernel_);
    Step(bias, global_ ? of_kernel + of_bias : of_bias, &bias_);
  }

  const Data& data_;
  const bool global_;
  std::vector<double> kernel_ = std::vector<double>(kInputs * kUnits);
  std::vector<double> bias_ = std::vector<double>(kUnits);
};

std::string WriteJob(const Data& data, const std::string& clip, const std::string& folder) {
  std::filesystem::create_directories(folder);
  WriteFile(folder + "/x.npy", EncodeNpy(data.x));
  WriteFile(folder + "/y.npy", EncodeNpy(data.y));
  const json layer = {{"class_name", "Dense"},
                      {"config",
                       {{"name", "line"},
                        {"units", kUnits},
                        {"kernel_initializer", "zeros"},
                        {"batch_input_shape", {nullptr, kInputs}}}}};
  const json model = {{"class_name", "Sequential"},
                      {"config", {{"name", "lines"}, {"layers", {layer}}}}};
  WriteFile(folder + "/model.json", model.dump());
  const json job = {
      {"name", "clipped"},
      {"model", "model.json"},
      {"train", {{"npy", {{"features", "x.npy"}, {"labels", "y.npy"}}}}},
      {"loss", "mse"},
      {"optimizer", {{"name", "sgd"}, {"learning_rate", kRate}, {clip, kLimit}}},
      {"batch_size", kBatch},
      {"epochs", kEpochs},
      {"shuffle", false},
      {"strategy", {{"parameter_server", {{"mode", "sync"}, {"batches_per_update", 2}}}}},
      {"partitioner", {{"min_slice_bytes", 4}}},
      {"checkpoint", {{"every_steps", 100}}}};
  WriteFile(folder + "/job.json", job.dump());
  return folder + "/job.json";
}

// Kills a worker and then a ps, each after the job has advanced.
void KillSome(TestCluster* cluster) {
  const auto wait_for = [&](int64_t batches) {
    return WaitUntil(seconds(60), [&] {
      return cluster->Status("clipped").value("batches_done", int64_t{0}) >= batches;
    });
  };
  ASSERT_TRUE(wait_for(300)) << cluster->Logs();
  cluster->task("worker", 0).Kill();
  cluster->Start("worker", 0);
  ASSERT_TRUE(wait_for(900)) << cluster->Logs();
  cluster->task("ps", 1).Kill();
  cluster->Start("ps", 1);
}

std::map<std::string, Array> TrainOn(int ps_count, const Data& data, const std::string& clip,
                                     bool kill_some = false) {
  TestCluster cluster(ps_count, /*worker_count=*/2);
  cluster.StartAll();
  const CommandResult submitted =
      cluster.Cairn({"submit", WriteJob(data, clip, cluster.folder("job"))});
  EXPECT_EQ(submitted.exit_code, 0) << submitted.errors;
  if (kill_some) KillSome(&cluster);
  const json status = cluster.WaitForEnd("clipped", seconds(120));
  EXPECT_EQ(status.value("state", ""), "finished") << status << cluster.Logs();
  if (kill_some) {
    EXPECT_GT(status.value("rollbacks", 0), 0) << status;
  }
  const CommandResult exported =
      cluster.Cairn({"export", "clipped", "--output", cluster.folder("export")});
  EXPECT_EQ(exported.exit_code, 0) << exported.errors;
  return ReadTfjsWeights(cluster.folder("export"));
}

double Difference(const std::map<std::string, Array>& a, const std::map<std::string, Array>& b) {
  double largest = 0;
  for (const auto& [name, array] : a) {
    if (!b.contains(name)) return INFINITY;
    largest = std::max(largest, LargestDifference(array.values, b.at(name).values));
  }
  return a.size() == b.size() ? largest : INFINITY;
}

class ClippedUpdates : public ::testing::TestWithParam<bool> {};

TEST_P(ClippedUpdates, AreThoseOfTheWholeUpdateOnOneTwoAndThreePsAndWhenTasksDie) {
  const bool global = GetParam();
  const std::string clip = global ? "global_clipnorm" : "clipnorm";
  const Data data = MakeData();
  PlainModel truth(data, global), by_batches(data, global), other_clip(data, !global);
  truth.Train(2 * kBatch);
  by_batches.Train(kBatch);
  other_clip.Train(2 * kBatch);
  const auto expected = truth.weights();
  ASSERT_GT(Difference(by_batches.weights(), expected), 0.1) << "the test would prove nothing";
  ASSERT_GT(Difference(other_clip.weights(), expected), 0.1) << "the test would prove nothing";

  const auto weights = TrainOn(1, data, clip);
  EXPECT_LT(Difference(weights, expected), 1e-4);
  EXPECT_EQ(Difference(TrainOn(2, data, clip), weights), 0);
  EXPECT_EQ(Difference(TrainOn(3, data, clip), weights), 0);
  EXPECT_EQ(Difference(TrainOn(3, data, clip, /*kill_some=*/true), weights), 0);
}

INSTANTIATE_TEST_SUITE_P(Clips, ClippedUpdates, ::testing::Bool(), [](const auto& clip) {
  return clip.param ? "GlobalClipnorm" : "Clipnorm";
});

}  // namespace
}  // namespace cairn::testing
