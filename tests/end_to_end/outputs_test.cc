// A model with two outputs on a real cluster. Each output has its loss, loss weight, metrics and
// labels, and is trained as in a model of its own.

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <sstream>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/arrays.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;

constexpr int kInputs = 6;
constexpr int64_t kExamples = 192;

// The labels are the index of the largest of three numbers, and the sum of all six.
void WriteData(const std::string& folder) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  Array x{{kExamples, kInputs}, {}}, kind{{kExamples, 1}, {}}, size{{kExamples, 1}, {}};
  for (int64_t i = 0; i < kExamples; ++i) {
    float sum = 0;
    for (int j = 0; j < kInputs; ++j) {
      x.values.push_back(normal(random));
      sum += x.values.back();
    }
    const float* row = &x.values[i * kInputs];
    kind.values.push_back(static_cast<float>(std::max_element(row, row + 3) - row));
    size.values.push_back(sum);
  }
  WriteFile(folder + "/x.npy", EncodeNpy(x));
  WriteFile(folder + "/kind.npy", EncodeNpy(kind));
  WriteFile(folder + "/size.npy", EncodeNpy(size));
  Array weights{{kExamples}, {}};
  for (int64_t i = 0; i < kExamples; ++i) weights.values.push_back(static_cast<float>(i % 4));
  WriteFile(folder + "/weights.npy", EncodeNpy(weights));
}

json Dense(const std::string& name, int units, const std::string& activation,
           const std::string& input) {
  return {
      {"class_name", "Dense"},
      {"name", name},
      {"config", {{"name", name}, {"units", units}, {"activation", activation}}},
      {"inbound_nodes", json::array({json::array({json::array({input, 0, 0, json::object()})})})}};
}

// Each output has a separate path from the input.
json Model(const std::vector<std::string>& outputs) {
  json layers =
      json::array({{{"class_name", "InputLayer"},
                    {"name", "x"},
                    {"config", {{"name", "x"}, {"batch_input_shape", {nullptr, kInputs}}}},
                    {"inbound_nodes", json::array()}}});
  json ends = json::array();
  for (const std::string& output : outputs) {
    layers.push_back(Dense(output + "_hidden", 16, "relu", "x"));
    const bool is_kind = output == "kind";
    layers.push_back(
        Dense(output, is_kind ? 3 : 1, is_kind ? "softmax" : "linear", output + "_hidden"));
    ends.push_back({output, 0, 0});
  }
  return {{"class_name", "Functional"},
          {"config",
           {{"name", "two"},
            {"layers", layers},
            {"input_layers", json::array({json::array({"x", 0, 0})})},
            {"output_layers", ends}}}};
}

constexpr char kKindLoss[] = "sparse_categorical_crossentropy";

json Job(const std::string& name, const json& labels, const json& loss, double rate,
         const json& parameter_server) {
  const json data = {{"npy", {{"features", "x.npy"}, {"labels", labels}}}};
  return {{"name", name},     {"model", name + "_model.json"},
          {"train", data},    {"validation", data},
          {"loss", loss},     {"optimizer", {{"name", "sgd"}, {"learning_rate", rate}}},
          {"batch_size", 16}, {"epochs", 4},
          {"seed", 5},        {"strategy", {{"parameter_server", parameter_server}}}};
}

const json kSync = {{"mode", "sync"}, {"batches_per_update", 2}};

class Outputs : public ::testing::Test {
 protected:
  Outputs() : cluster_(/*ps_count=*/2, /*worker_count=*/2) {
    cluster_.StartAll();
    WriteData(folder_);
  }

  void Submit(const json& job, const std::vector<std::string>& outputs) {
    const auto name = job["name"].get<std::string>();
    WriteFile(folder_ + "/" + name + "_model.json", Model(outputs).dump());
    WriteFile(folder_ + "/" + name + ".json", job.dump());
    const CommandResult submitted = cluster_.Cairn({"submit", folder_ + "/" + name + ".json"});
    ASSERT_EQ(submitted.exit_code, 0) << submitted.errors;
  }

  json Finish(const std::string& name) {
    json status = cluster_.WaitForEnd(name, seconds(120));
    EXPECT_EQ(status.value("state", ""), "finished") << status.dump();
    return status;
  }

  std::map<std::string, Array> Weights(const std::string& name) {
    const std::string output = cluster_.folder("export_" + name);
    const CommandResult exported = cluster_.Cairn({"export", name, "--output", output});
    EXPECT_EQ(exported.exit_code, 0) << exported.errors;
    return ReadTfjsWeights(output);
  }

  // The job "both" has the same values as the jobs "kind" and "size", bit for bit.
  void ExpectTrainedAsAlone() {
    std::map<std::string, Array> alone = Weights("kind");
    alone.merge(Weights("size"));
    const std::map<std::string, Array> together = Weights("both");
    ASSERT_EQ(together.size(), 8u);
    for (const auto& [name, array] : together) {
      EXPECT_EQ(array.values, alone.at(name).values) << name;
    }
  }

  TestCluster cluster_;
  const std::string folder_ = cluster_.folder(".");
};

// Half the loss weight gives the same steps as half the learning rate, bit for bit.
TEST_F(Outputs, EachIsTrainedAsItWouldBeAlone) {
  json both = Job("both", {{"size", "size.npy"}, {"kind", "kind.npy"}},
                  {{"kind", kKindLoss}, {"size", "mse"}}, 0.25, kSync);
  both["loss_weights"] = {1, 0.5};
  both["metrics"] = {{"kind", "accuracy"}, {"size", {"mae", {{"name", "mse"}, {"as", "square"}}}}};
  Submit(both, {"kind", "size"});
  Submit(Job("kind", "kind.npy", kKindLoss, 0.25, kSync), {"kind"});
  Submit(Job("size", "size.npy", "mse", 0.125, kSync), {"size"});
  const json status = Finish("both");
  Finish("kind");
  Finish("size");

  ExpectTrainedAsAlone();

  const std::vector<json> history = cluster_.Cairn({"history", "both", "--json"}).lines();
  ASSERT_EQ(history.size(), 4u * 12 + 4);
  for (const json& line : history) {
    EXPECT_NEAR(line.at("loss"),
                line.at("kind_loss").get<double>() + line.at("size_loss").get<double>() / 2, 1e-6)
        << line.dump();
    EXPECT_NEAR(line.at("size_square"), line.at("size_loss"), 1e-6) << line.dump();
  }
  EXPECT_GT(status["evaluations"].back()["kind_accuracy"], 0.8);
  EXPECT_LT(status["evaluations"].back()["size_loss"], 0.5);
}

// The weights of both outputs, multiplied with each output's own.
TEST_F(Outputs, WeightsOfExamplesAreEveryOutputs) {
  json both = Job("both", {"kind.npy", "size.npy"}, {kKindLoss, "mse"}, 0.25, kSync);
  both["loss_weights"] = {1, 0.5};
  both["metrics"] = {json::array(), {{{"name", "mse"}, {"as", "square"}}}};
  json kind = Job("kind", "kind.npy", kKindLoss, 0.25, kSync);
  json size = Job("size", "size.npy", "mse", 0.125, kSync);
  for (json* job : {&both, &kind, &size}) {
    for (const char* source : {"train", "validation"}) {
      (*job)[source]["sample_weight"] = "weights.npy";
    }
  }
  Submit(both, {"kind", "size"});
  Submit(kind, {"kind"});
  Submit(size, {"size"});
  const json status = Finish("both");
  const json alone = Finish("size");
  Finish("kind");
  ExpectTrainedAsAlone();
  const json &last = status["evaluations"].back(), &last_alone = alone["evaluations"].back();
  EXPECT_NEAR(last["size_loss"], last_alone["loss"], 1e-6) << "is weighted";
  EXPECT_GT(std::abs(last["size_square"].get<double>() - last["size_loss"].get<double>()), 1e-3)
      << "metrics are not";
}

// The lines of a CSV file are the header and the rows of the array, to the last bit.
void ExpectTable(const std::string& text, const std::string& header, const Array& array) {
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, header);
  std::vector<float> values;
  int64_t rows = 0;
  for (; std::getline(lines, line); ++rows) {
    std::istringstream fields(line);
    for (std::string field; std::getline(fields, field, ',');) values.push_back(std::stof(field));
  }
  EXPECT_EQ(rows, array.shape[0]);
  EXPECT_EQ(values, array.values);
}

TEST_F(Outputs, AnAsynchronousJobIsEvaluatedAndPredictsBoth) {
  json job = Job("both", {"kind.npy", "size.npy"}, {"categorical_crossentropy", "mse"}, 0.05,
                 {{"mode", "async"}});
  job["train"]["one_hot"] = {{"kind", true}};
  job["metrics"] = {{"accuracy"}, json::array()};
  Submit(job, {"kind", "size"});
  const json last = Finish("both")["evaluations"].back();

  const CommandResult evaluated = cluster_.Cairn({"evaluate", "both", "--json"});
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.errors;
  for (const char* name : {"loss", "kind_loss", "size_loss", "kind_accuracy"}) {
    EXPECT_NEAR(evaluated.lines()[0].at(name), last.at(name), 1e-6) << name;
  }

  const std::string x = folder_ + "/x.npy", kind = folder_ + "/k.npy", size = folder_ + "/s.npy";
  EXPECT_EQ(cluster_.Cairn({"predict", "both", "--input", x, "--output", kind}).exit_code, 2);
  const CommandResult predicted =
      cluster_.Cairn({"predict", "both", "--input", x, "--output", kind, "--output", size});
  ASSERT_EQ(predicted.exit_code, 0) << predicted.errors;
  const Array sizes = DecodeNpy(ReadFile(size));
  const Array truth = DecodeNpy(ReadFile(folder_ + "/size.npy"));
  EXPECT_EQ(DecodeNpy(ReadFile(kind)).shape, std::vector<int64_t>({kExamples, 3}));
  ASSERT_EQ(sizes.shape, std::vector<int64_t>({kExamples, 1}));
  double squares = 0;
  for (int64_t i = 0; i < kExamples; ++i) {
    squares += std::pow(sizes.values[i] - truth.values[i], 2);
  }
  EXPECT_NEAR(squares / kExamples, last["size_loss"], 1e-4);

  const std::string table = folder_ + "/k.csv";
  const CommandResult as_text =
      cluster_.Cairn({"predict", "both", "--input", x, "--output", table, "--output", "/dev/null"});
  ASSERT_EQ(as_text.exit_code, 0) << as_text.errors;
  ExpectTable(ReadFile(table), "kind_0,kind_1,kind_2", DecodeNpy(ReadFile(kind)));
}

}  // namespace
}  // namespace cairn::testing
