#include "tests/end_to_end/adam_job.h"

#include <random>
#include <utility>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/process.h"

namespace cairn::testing {
namespace {

using nlohmann::json;

constexpr int kInputs = 20;
constexpr int kClasses = 4;

json Layer(const std::string& class_name, const std::string& name, json config) {
  config["name"] = name;
  return {{"class_name", class_name}, {"config", std::move(config)}};
}

json ConvolutionalLayers() {
  return {Layer("Reshape", "image",
                {{"target_shape", {kClasses, kInputs / kClasses, 1}},
                 {"batch_input_shape", {nullptr, kInputs}}}),
          Layer("Conv2D", "convolution",
                {{"filters", 8}, {"kernel_size", {3, 3}}, {"padding", "same"}}),
          Layer("BatchNormalization", "normalization", json::object()),
          Layer("Activation", "relu", {{"activation", "relu"}}),
          Layer("Dropout", "dropout", {{"rate", 0.2}}),
          Layer("Flatten", "flat", json::object()),
          Layer("Dense", "last", {{"units", kClasses}, {"activation", "softmax"}})};
}

json RecurrentLayers() {
  const json gru = {{"class_name", "GRU"}, {"config", {{"units", 5}, {"reset_after", false}}}};
  return {
      Layer("Reshape", "steps",
            {{"target_shape", {kClasses, kInputs / kClasses}},
             {"batch_input_shape", {nullptr, kInputs}}}),
      Layer(
          "LSTM", "first",
          {{"units", 6}, {"return_sequences", true}, {"dropout", 0.1}, {"recurrent_dropout", 0.1}}),
      Layer("Bidirectional", "second", {{"layer", gru}}),
      Layer("Dense", "last", {{"units", kClasses}, {"activation", "softmax"}})};
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
  const json layers = options.is_recurrent ? RecurrentLayers() : ConvolutionalLayers();
  const json model = {{"class_name", "Sequential"},
                      {"config", {{"name", "network"}, {"layers", layers}}}};
  WriteFile(folder + "/model.json", model.dump());
  json job = {{"name", options.name},
              {"model", "model.json"},
              {"train", {{"npy", {{"features", "x.npy"}, {"labels", "y.npy"}}}}},
              {"loss", "sparse_categorical_crossentropy"},
              {"loss_weights", json::array({options.loss_weight})},
              {"precision", options.precision},
              {"metrics", {"accuracy"}},
              {"optimizer", {{"name", "adam"}, {"learning_rate", 0.01}}},
              {"batch_size", 16},
              {"epochs", options.epochs},
              {"seed", 5},
              {"partitioner", {{"min_slice_bytes", 64}}}};
  job["strategy"] = options.strategy;
  if (options.strategy.is_null()) {
    job["strategy"] = {{"parameter_server",
                        {{"mode", "sync"}, {"batches_per_update", options.batches_per_update}}}};
  }
  if (options.checkpoint_every > 0) {
    job["checkpoint"] = {{"every_steps", options.checkpoint_every}};
  }
  WriteFile(folder + "/job.json", job.dump());
  return folder + "/job.json";
}

void ExpectSameBits(const std::map<std::string, Array>& a, const std::map<std::string, Array>& b) {
  ASSERT_GE(a.size(), 8u);
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, array] : a) {
    ASSERT_TRUE(b.contains(name));
    EXPECT_EQ(array.values, b.at(name).values) << name;
  }
}

}  // namespace cairn::testing
