// Transfer learning on a real cluster: a network is trained and exported; then it is frozen and a
// new head on it is trained. The values of the base come from its job or from the exported file.

#include <map>
#include <random>
#include <set>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/arrays.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;

constexpr int64_t kExamples = 96;
constexpr int kSide = 32;

// Images of one color with noise; the class is the color.
void WriteData(const std::string& folder) {
  std::mt19937 random(9);
  std::normal_distribution<float> normal;
  Array x{{kExamples, kSide, kSide, 3}, {}}, y{{kExamples, 1}, {}};
  for (int64_t i = 0; i < kExamples; ++i) {
    for (int pixel = 0; pixel < kSide * kSide; ++pixel) {
      for (int channel = 0; channel < 3; ++channel) {
        x.values.push_back((channel == i % 3 ? 1.0f : -0.5f) + 0.3f * normal(random));
      }
    }
    y.values.push_back(static_cast<float>(i % 3));
  }
  WriteFile(folder + "/x.npy", EncodeNpy(x));
  WriteFile(folder + "/y.npy", EncodeNpy(y));
}

// MobileNetV2 0.35 for images of 32 x 32.
json SmallMobileNet() {
  json model = json::parse(ReadFile("examples/models/mobilenet_v2_035_96.json"));
  model["config"]["layers"][0]["config"]["batch_shape"] = {nullptr, kSide, kSide, 3};
  // The moving statistics converge within the few steps of the test.
  for (json& layer : model["config"]["layers"]) {
    if (layer["class_name"] == "BatchNormalization") layer["config"]["momentum"] = 0.5;
  }
  return model;
}

json Call(const std::string& input, int node) {
  return json::array({json::array({json::array({input, node, 0, json::object()})})});
}

json Layer(const std::string& class_name, json config, const json& inbound_nodes) {
  const json name = config["name"];
  return {{"class_name", class_name},
          {"name", name},
          {"config", std::move(config)},
          {"inbound_nodes", inbound_nodes}};
}

// The same network without its last two layers, frozen, as one layer under a head of three classes.
json TransferModel() {
  json base = SmallMobileNet();
  json& layers = base["config"]["layers"];
  layers.erase(layers.size() - 1);
  layers.erase(layers.size() - 1);
  base["name"] = base["config"]["name"] = "base";
  base["config"]["trainable"] = false;
  base["config"]["output_layers"] = json::array({json::array({layers.back()["name"], 0, 0})});
  base["inbound_nodes"] = Call("images", 0);
  const json input =
      Layer("InputLayer", {{"name", "images"}, {"batch_shape", {nullptr, kSide, kSide, 3}}},
            json::array());
  return {{"class_name", "Functional"},
          {"config",
           {{"name", "transfer"},
            {"layers",
             {input, base, Layer("GlobalAveragePooling2D", {{"name", "pool"}}, Call("base", 1)),
              Layer("Dense", {{"name", "head"}, {"units", 3}, {"activation", "softmax"}},
                    Call("pool", 0))}},
            {"input_layers", json::array({json::array({"images", 0, 0})})},
            {"output_layers", json::array({json::array({"head", 0, 0})})}}}};
}

json Job(const std::string& name, int epochs, double rate) {
  const json data = {{"npy", {{"features", "x.npy"}, {"labels", "y.npy"}}}};
  return {{"name", name},
          {"model", name + "_model.json"},
          {"train", data},
          {"validation", data},
          {"loss", "sparse_categorical_crossentropy"},
          {"metrics", {"accuracy"}},
          {"optimizer", {{"name", "adam"}, {"learning_rate", rate}}},
          {"batch_size", 16},
          {"epochs", epochs},
          {"seed", 2},
          {"strategy", {{"parameter_server", {{"mode", "sync"}}}}}};
}

// Two Dense layers on the pixels, the first of them frozen or not.
json DenseModel(const std::string& head, bool trainable) {
  const json shape = {nullptr, kSide, kSide, 3};
  const auto layer = [](const std::string& class_name, const json& config) -> json {
    return {{"class_name", class_name}, {"config", config}};
  };
  return {{"class_name", "Sequential"},
          {"config",
           {{"name", "dense"},
            {"layers",
             {layer("Flatten", {{"name", "flat"}, {"batch_input_shape", shape}}),
              layer("Dense", {{"name", "first"}, {"units", 4}, {"trainable", trainable}}),
              layer("Dense", {{"name", head}, {"units", 3}, {"activation", "softmax"}})}}}}};
}

class Transfer : public ::testing::Test {
 protected:
  Transfer() : cluster_(/*ps_count=*/2, /*worker_count=*/2) {
    cluster_.StartAll();
    WriteData(folder_);
  }

  // The last status.
  json Train(const json& job, const json& model) {
    const auto name = job["name"].get<std::string>();
    WriteFile(folder_ + "/" + name + "_model.json", model.dump());
    WriteFile(folder_ + "/" + name + ".json", job.dump());
    submitted_ = cluster_.Cairn({"submit", folder_ + "/" + name + ".json"});
    EXPECT_EQ(submitted_.exit_code, 0) << submitted_.errors;
    json status = cluster_.WaitForEnd(name, seconds(240));
    EXPECT_EQ(status.value("state", ""), "finished") << status.dump();
    return status;
  }

  std::map<std::string, Array> Export(const std::string& name) {
    const std::string output = folder_ + "/exported_" + name;
    const CommandResult exported = cluster_.Cairn({"export", name, "--output", output});
    EXPECT_EQ(exported.exit_code, 0) << exported.errors;
    return ReadTfjsWeights(output);
  }

  // All values except the head's are unchanged, bit for bit.
  static void ExpectBase(const std::map<std::string, Array>& before,
                         const std::map<std::string, Array>& after) {
    std::set<std::string> others;
    for (const auto& [name, array] : after) {
      const auto old = before.find(name);
      if (old == before.end()) {
        others.insert(name);
      } else {
        EXPECT_EQ(array.values, old->second.values) << name;
      }
    }
    EXPECT_EQ(others, std::set<std::string>({"head/bias", "head/kernel"}));
    EXPECT_EQ(after.size(), before.size());  // The new head has replaced the old one.
  }

  TestCluster cluster_;
  const std::string folder_ = cluster_.folder(".");
  CommandResult submitted_;
};

TEST_F(Transfer, OnlyTheHeadOfAFrozenBaseLearns) {
  Train(Job("base", /*epochs=*/2, 0.001), SmallMobileNet());
  const std::map<std::string, Array> base = Export("base");

  json job = Job("by_job", /*epochs=*/5, 0.02);
  job["resume_from"] = "base";
  const json status = Train(job, TransferModel());
  EXPECT_NE(submitted_.output.find("starts anew: head/kernel; head/bias"), std::string::npos)
      << submitted_.output;
  const json& evaluations = status["evaluations"];
  ASSERT_EQ(evaluations.size(), 5u);
  EXPECT_LT(evaluations.back()["loss"], evaluations.front()["loss"]);
  ExpectBase(base, Export("by_job"));

  job = Job("by_file", /*epochs=*/1, 0.02);
  job["resume_from"] = "exported_base/model.json";
  Train(job, TransferModel());
  EXPECT_NE(submitted_.output.find("starts anew: head/kernel; head/bias"), std::string::npos)
      << submitted_.output;
  ExpectBase(base, Export("by_file"));
}

TEST_F(Transfer, AJobResumesFromAnOnnxFile) {
  Train(Job("old", /*epochs=*/1, 0.001), DenseModel("old_head", /*trainable=*/true));
  const std::map<std::string, Array> old = Export("old");
  const CommandResult exported =
      cluster_.Cairn({"export", "old", "--output", folder_ + "/old.onnx"});
  ASSERT_EQ(exported.exit_code, 0) << exported.errors;
  json job = Job("by_onnx", /*epochs=*/1, 0.001);
  job["resume_from"] = "old.onnx";
  Train(job, DenseModel("head", /*trainable=*/false));
  EXPECT_NE(submitted_.output.find("starts anew: head/kernel; head/bias"), std::string::npos)
      << submitted_.output;
  const std::map<std::string, Array> tuned = Export("by_onnx");
  for (const char* name : {"first/kernel", "first/bias"}) {
    EXPECT_EQ(tuned.at(name).values, old.at(name).values) << name;
  }
}

}  // namespace
}  // namespace cairn::testing
