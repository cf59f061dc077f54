#include "tests/end_to_end/adam_job.h"

#include <random>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/process.h"

namespace cairn::testing {
namespace {

using nlohmann::json;

constexpr int kInputs = 20;
constexpr int kClasses = 4;

json DenseLayer(const std::string& name, int units, const std::string& activation) {
  return {{"class_name", "Dense"},
          {"config", {{"name", name}, {"units", units}, {"activation", activation}}}};
}

}  // namespace

std::string WriteAdamJob(const std::string& folder, const AdamJob& options) {
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
  json job = {{"name", options.name},
              {"model", "model.json"},
              {"train", {{"npy", {{"features", "x.npy"}, {"labels", "y.npy"}}}}},
              {"loss", "sparse_categorical_crossentropy"},
              {"metrics", {"accuracy"}},
              {"optimizer", {{"name", "adam"}, {"learning_rate", 0.01}}},
              {"batch_size", 16},
              {"epochs", options.epochs},
              {"seed", 5},
              {"strategy",
               {{"parameter_server",
                 {{"mode", "sync"}, {"batches_per_update", options.batches_per_update}}}}},
              {"partitioner", {{"min_slice_bytes", 64}}}};
  if (options.checkpoint_every > 0) {
    job["checkpoint"] = {{"every_steps", options.checkpoint_every}};
  }
  WriteFile(folder + "/job.json", job.dump());
  return folder + "/job.json";
}

void ExpectSameBits(const std::map<std::string, Array>& a, const std::map<std::string, Array>& b) {
  ASSERT_EQ(a.size(), 4u);
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, array] : a) {
    ASSERT_TRUE(b.contains(name));
    EXPECT_EQ(array.values, b.at(name).values) << name;
  }
}

}  // namespace cairn::testing
