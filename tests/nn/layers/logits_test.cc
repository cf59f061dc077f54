// The crossentropies of a softmax and of a sigmoid are those of their inputs, whichever layer has
// computed them.

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "common/random.h"
#include "gtest/gtest.h"
#include "nn/executor.h"
#include "proto/objective.pb.h"
#include "tests/nn/layers/conformance_device.h"
#include "tests/nn/layers/test_batch.h"
#include "tests/nn/test_model.h"

namespace cairn::nn::testing {
namespace {

constexpr int64_t kBatchSize = 3;

// $ is the activation.
struct LastLayer {
  const char* shape;
  const char* class_name;
  const char* config;
};

const LastLayer kLastLayers[] = {
    {"4", "Activation", R"({"activation": "$"})"},
    {"4", "Dense", R"({"units": 3, "activation": "$"})"},
    {"4", "Dense", R"({"units": 3, "use_bias": false, "activation": "$"})"},
    {"3, 4", "EinsumDense",
     R"({"equation": "abc,cd->abd", "output_shape": [null, 5], "bias_axes": "d",
         "activation": "$"})"},
    {"3, 4", "EinsumDense",
     R"({"equation": "abc,cd->adb", "output_shape": [5, 3], "bias_axes": "d",
         "activation": "$"})"},
    {"3, 4", "TimeDistributed",
     R"({"layer": {"class_name": "Dense", "config": {"units": 3, "activation": "$"}}})"},
    {"6, 4", "Conv1D", R"({"filters": 3, "kernel_size": 2, "activation": "$"})"},
    {"6, 5, 2", "Conv2D", R"({"filters": 3, "kernel_size": 3, "activation": "$"})"},
    {"6, 5, 4", "DepthwiseConv2D", R"({"kernel_size": 3, "activation": "$"})"},
    {"6, 5, 2", "SeparableConv2D", R"({"filters": 3, "kernel_size": 3, "activation": "$"})"},
    {"6, 5, 2", "Conv2DTranspose",
     R"({"filters": 3, "kernel_size": 3, "strides": 2, "activation": "$"})"},
    {"4, 3, 3, 2", "Conv3D", R"({"filters": 3, "kernel_size": 2, "activation": "$"})"},
    {"2, 3, 3, 2", "Conv3DTranspose", R"({"filters": 3, "kernel_size": 2, "activation": "$"})"},
};

// With `consumer` another layer takes the outputs, too. Without an activation of its own the last
// layer has one behind it then.
std::unique_ptr<Model> ModelWith(const LastLayer& last, const std::string& activation,
                                 const std::string& consumer = "") {
  std::vector<TestLayer> layers = {
      {"input", "InputLayer", absl::StrFormat(R"({"batch_shape": [null, %s]})", last.shape)},
      {"first", "Dense", R"({"units": 4})"}};
  // A device may fuse the two.
  if (std::string(last.class_name) == "Conv2D") layers.push_back({"pad", "ZeroPadding2D"});
  layers.push_back(
      {"last", last.class_name, absl::StrReplaceAll(last.config, {{"$", activation}})});
  if (consumer.empty()) return ModelOf(layers);
  if (activation == "linear") {
    layers.push_back(
        {"activation", "Activation", absl::StrFormat(R"({"activation": "%s"})", consumer)});
  }
  layers.push_back({"consumer", "Dense", R"({"units": 2})"});
  return ModelOf(layers, {"last", "consumer"});
}

std::unique_ptr<const Loss> LossNamed(const std::string& name, bool from_logits) {
  proto::Loss config;
  config.set_name(name);
  if (from_logits) config.set_from_logits(true);
  return *CreateLoss(config);
}

Objective ObjectiveOf(const std::string& name, bool from_logits) {
  return Objective(LossNamed(name, from_logits));
}

Objective ObjectiveOfTwo(const std::string& name, bool from_logits) {
  std::vector<Objective::OutputLoss> losses;
  losses.push_back({LossNamed(name, from_logits), 1});
  losses.push_back({LossNamed("mean_squared_error", false), 0.5});
  return Objective(std::move(losses), {});
}

// The loss and the gradients of one step, with large weights.
std::vector<double> Step(const Model& model, const Objective& objective, Device* device) {
  const TestBatch data(model, objective, kBatchSize);
  auto executor = *Executor::Create(&model, &objective, {.batch_size = kBatchSize}, device);
  for (size_t v = 0; v < model.variables().size(); ++v) {
    const absl::Span<float> values = executor->values(static_cast<int>(v));
    for (size_t i = 0; i < values.size(); ++i) values[i] = 10 * RandomUniform(50 + v, i) - 4;
  }
  const auto results = executor->Forward(data.batch, /*training=*/true);
  EXPECT_TRUE(results.ok()) << results.status();
  std::vector<double> all = {results->loss_sum};
  const absl::Status status = executor->Backward([&](int variable) {
    const auto gradient = executor->gradient(variable);
    all.insert(all.end(), gradient.begin(), gradient.end());
  });
  EXPECT_TRUE(status.ok()) << status;
  // Evaluation computes the same loss.
  EXPECT_EQ(executor->Forward(data.batch, /*training=*/false)->loss_sum, all[0]);
  return all;
}

void ExpectNear(const std::vector<double>& computed, const std::vector<double>& expected) {
  ASSERT_EQ(computed.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(computed[i], expected[i], 1e-5 * std::max(1.0, std::fabs(expected[i]))) << i;
  }
}

TEST(LogitsTest, CrossentropiesAreThoseOfALinearOutputWithFromLogits) {
  const std::unique_ptr<Device> device = CreateConformanceDevice();
  if (device == nullptr) GTEST_SKIP() << "the device is not there";
  for (const LastLayer& last : kLastLayers) {
    for (const char* loss :
         {"categorical_crossentropy", "binary_crossentropy", "binary_focal_crossentropy"}) {
      const std::vector<double> expected =
          Step(*ModelWith(last, "linear"), ObjectiveOf(loss, /*from_logits=*/true), device.get());
      const bool is_focal = std::string(loss) == "binary_focal_crossentropy";
      for (const char* activation : {"sigmoid", "softmax"}) {
        if (is_focal && std::string(activation) == "softmax") break;
        for (bool from_logits : {false, true}) {
          if (is_focal && from_logits) continue;  // Then the output is the logit.
          SCOPED_TRACE(absl::StrCat(last.class_name, " ", activation, " ", loss, from_logits));
          ExpectNear(
              Step(*ModelWith(last, activation), ObjectiveOf(loss, from_logits), device.get()),
              expected);
        }
      }
    }
  }
}

// The gradient of the loss meets that of the other layer at the logits.
TEST(LogitsTest, AlsoIfAnotherLayerTakesTheOutput) {
  const std::unique_ptr<Device> device = CreateConformanceDevice();
  if (device == nullptr) GTEST_SKIP() << "the device is not there";
  for (const LastLayer& last : kLastLayers) {
    for (const char* loss : {"categorical_crossentropy", "binary_crossentropy"}) {
      for (const char* activation : {"softmax", "sigmoid"}) {
        SCOPED_TRACE(absl::StrCat(last.class_name, " ", activation, " ", loss));
        ExpectNear(Step(*ModelWith(last, activation, activation),
                        ObjectiveOfTwo(loss, /*from_logits=*/false), device.get()),
                   Step(*ModelWith(last, "linear", activation),
                        ObjectiveOfTwo(loss, /*from_logits=*/true), device.get()));
      }
    }
  }
}

}  // namespace
}  // namespace cairn::nn::testing
