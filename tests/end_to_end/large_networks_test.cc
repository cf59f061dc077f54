// Networks with many layers, branches and normalizations train for a few steps on a real cluster.
// Their outputs must be finite, and every kind of variable must change.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/arrays.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;

constexpr int64_t kExamples = 32;
constexpr int64_t kSide = 32;

// Images of noise; the class is the brightness.
void WriteImages(const std::string& folder) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> noise(0, 0.2f);
  Array x{{kExamples, kSide, kSide, 3}, {}};
  Array y{{kExamples}, {}};
  for (int64_t i = 0; i < kExamples; ++i) {
    const auto label = static_cast<float>(i % 2);
    y.values.push_back(label);
    for (int64_t pixel = 0; pixel < kSide * kSide * 3; ++pixel) {
      x.values.push_back(0.7f * label + noise(random));
    }
  }
  WriteFile(folder + "/x.npy", EncodeNpy(x));
  WriteFile(folder + "/y.npy", EncodeNpy(y));
}

// Waits for the job's end and returns the trained weights.
std::map<std::string, Array> Train(const std::string& model) {
  TestCluster cluster(/*ps_count=*/2, /*worker_count=*/2);
  cluster.StartAll();
  const std::string folder = cluster.folder(".");
  WriteImages(folder);
  const json job = {{"name", "large"},
                    {"model", std::filesystem::absolute("examples/models/" + model).string()},
                    {"train", {{"npy", {{"features", "x.npy"}, {"labels", "y.npy"}}}}},
                    {"loss", "sparse_categorical_crossentropy"},
                    {"optimizer", {{"name", "adam"}, {"learning_rate", 0.001}}},
                    {"batch_size", 8},
                    {"epochs", 2},
                    {"seed", 1},
                    {"strategy", {{"parameter_server", {{"mode", "async"}}}}}};
  WriteFile(folder + "/job.json", job.dump());
  const CommandResult submitted = cluster.Cairn({"submit", folder + "/job.json"});
  EXPECT_EQ(submitted.exit_code, 0) << submitted.errors;
  const json status = cluster.WaitForEnd("large", seconds(400));
  EXPECT_EQ(status.value("state", ""), "finished") << status.dump();
  EXPECT_EQ(status.value("batches_done", 0), 2 * kExamples / 8) << status.dump();
  const std::string output = cluster.folder("export");
  const CommandResult exported = cluster.Cairn({"export", "large", "--output", output});
  EXPECT_EQ(exported.exit_code, 0) << exported.errors;
  return ReadTfjsWeights(output);
}

bool HasOnly(const Array& array, float value) {
  return std::all_of(array.values.begin(), array.values.end(),
                     [value](float v) { return v == value; });
}

// Gammas, betas and moving statistics start as ones and zeros.
void ExpectTrained(const std::map<std::string, Array>& weights, size_t count) {
  EXPECT_EQ(weights.size(), count);
  for (const auto& [name, array] : weights) {
    for (float value : array.values) ASSERT_TRUE(std::isfinite(value)) << name;
    EXPECT_FALSE(HasOnly(array, 0) || HasOnly(array, 1)) << name;
  }
}

// 52 convolutions and 52 normalizations of 4 variables each, and a dense layer.
TEST(LargeNetworks, MobileNetV2TrainsOnACluster) {
  ExpectTrained(Train("mobilenet_v2_035_32.json"), 52 + 52 * 4 + 2);
}

// 53 convolutions with biases, 53 normalizations and a dense layer; 90 MiB of parameters.
TEST(LargeNetworks, ResNet50TrainsOnACluster) {
  ExpectTrained(Train("resnet50_32.json"), 53 * 2 + 53 * 4 + 2);
}

}  // namespace
}  // namespace cairn::testing
