// Compares outputs and gradients of layers with reference data from other frameworks: all layers
// that TensorFlow.js has, some that PyTorch has, and a model with several outputs. The data is
// written by reference/generate.js and generate_torch.py.

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "job/job_objective.h"
#include "nlohmann/json.hpp"
#include "nn/create_device.h"
#include "nn/executor.h"
#include "nn/formats/model_file.h"
#include "proto/job.pb.h"

namespace cairn::nn {
namespace {

using nlohmann::json;

json ReadCases(const std::string& name) {
  std::ifstream file("tests/nn/reference/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return json::parse(text.str());
}

struct Reference {
  json content;
};

void PrintTo(const Reference& reference, std::ostream* out) {
  *out << reference.content.at("name").get<std::string>();
}

class LayerReferenceTest : public ::testing::TestWithParam<Reference> {
 protected:
  void SetUp() override {
    const json& reference = GetParam().content;
    const auto imported = ReadModel(reference.at("model").dump(), {});
    ASSERT_TRUE(imported.ok()) << imported.status();
    auto model = Model::Create(imported->spec);
    ASSERT_TRUE(model.ok()) << model.status();
    model_ = *std::move(model);
    outputs_ = reference.contains("outputs") ? reference.at("outputs")
                                             : json::array({reference.at("output")});
    objective_ = *job::CreateObjective(SquaredOutputs(reference), *model_);
    device_ = *CreateDevice("cpu");
    batch_size_ = outputs_[0].at("shape")[0];
    executor_ =
        *Executor::Create(model_.get(), &objective_, {.batch_size = batch_size_}, device_.get());
    LoadWeights(reference.at("weights"));
    for (size_t i = 0; i < reference.at("inputs").size(); ++i) LoadInput(i);
    for (const json& output : outputs_) {
      labels_.emplace_back(output.at("values").size(), 0.0f);
      batch_.labels.push_back(labels_.back().data());
    }
  }

  // The mean of the squares of each output, times its weight.
  static proto::Job SquaredOutputs(const json& reference) {
    proto::Job job;
    for (const json& weight : reference.value("loss_weights", json::array({1.0}))) {
      job.add_outputs()->set_loss_weight(weight);
    }
    job.mutable_loss()->set_name("mean_squared_error");
    return job;
  }

  void LoadWeights(const json& weights) {
    ASSERT_EQ(weights.size(), model_->variables().size());
    for (size_t v = 0; v < weights.size(); ++v) {
      EXPECT_EQ(weights[v].at("shape").get<Shape>(), model_->variables()[v].shape)
          << model_->variables()[v].name;
      const auto values = weights[v].at("values").get<std::vector<float>>();
      ASSERT_EQ(values.size(), executor_->values(static_cast<int>(v)).size());
      std::copy(values.begin(), values.end(), executor_->values(static_cast<int>(v)).begin());
    }
  }

  void LoadInput(size_t i) {
    const json& values = GetParam().content.at("inputs")[i].at("values");
    if (model_->inputs()[i].spec.type == proto::INT32) {
      ids_.push_back(values.get<std::vector<int32_t>>());
      batch_.inputs.push_back(ids_.back().data());
    } else {
      floats_.push_back(values.get<std::vector<float>>());
      batch_.inputs.push_back(floats_.back().data());
    }
  }

  Executor::Batch Batch() {
    batch_.size = batch_size_;
    return batch_;
  }

  static void ExpectClose(absl::Span<const float> actual, const json& expected,
                          const std::string& what) {
    ASSERT_EQ(actual.size(), expected.size()) << what;
    for (size_t i = 0; i < actual.size(); ++i) {
      const double wanted = expected[i];
      ASSERT_NEAR(actual[i], wanted, 1e-5 * std::max(1.0, std::fabs(wanted))) << what << " " << i;
    }
  }

  std::unique_ptr<Model> model_;
  Objective objective_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Executor> executor_;
  int64_t batch_size_ = 0;
  std::vector<std::vector<float>> floats_;
  std::vector<std::vector<int32_t>> ids_;
  json outputs_;
  std::vector<std::vector<float>> labels_;
  Executor::Batch batch_;
};

TEST_P(LayerReferenceTest, OutputIsTheirs) {
  const absl::Status status = executor_->Forward(Batch(), /*training=*/false).status();
  ASSERT_TRUE(status.ok()) << status;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    ExpectClose(*executor_->output(static_cast<int>(i)), outputs_[i].at("values"),
                model_->outputs()[i].name);
  }
}

TEST_P(LayerReferenceTest, GradientsAreTheirs) {
  ASSERT_TRUE(executor_->Forward(Batch(), /*training=*/true).ok());
  EXPECT_TRUE(executor_->Backward([](int) {}).ok());
  const json& gradients = GetParam().content.at("gradients");
  for (size_t v = 0; v < gradients.size(); ++v) {
    if (gradients[v].is_null()) continue;
    ExpectClose(executor_->gradient(static_cast<int>(v)), gradients[v],
                model_->variables()[v].name);
  }
}

std::vector<Reference> References() {
  std::vector<Reference> references;
  for (const char* file : {"cases.json", "torch_cases.json"}) {
    const json cases = ReadCases(file);
    for (const json& content : cases) references.push_back({content});
  }
  return references;
}

INSTANTIATE_TEST_SUITE_P(Layers, LayerReferenceTest, ::testing::ValuesIn(References()),
                         [](const auto& info) {
                           return info.param.content.at("name").template get<std::string>();
                         });

}  // namespace
}  // namespace cairn::nn
