#include "cli/model/weights_start.h"

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "nn/formats/keras_json.h"

namespace cairn::cli {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Weight {
  std::string name;
  std::vector<int64_t> shape;
};

json Dense(const std::string& name, int units) {
  return {{"class_name", "Dense"}, {"config", {{"name", name}, {"units", units}}}};
}

// A Bidirectional layer around an LSTM of 2 units, with inputs of 3 steps of 6 values.
json Bidirectional(const std::string& name) {
  const json lstm = {{"class_name", "LSTM"}, {"config", {{"name", "lstm"}, {"units", 2}}}};
  return {{"class_name", "Bidirectional"},
          {"config", {{"name", name}, {"layer", lstm}, {"batch_input_shape", {nullptr, 3, 6}}}}};
}

json Sequential(const std::string& name, std::vector<json> layers) {
  json& first = layers.front()["config"];
  if (!first.contains("batch_input_shape")) first["batch_input_shape"] = {nullptr, 4};
  return {{"class_name", "Sequential"}, {"config", {{"name", name}, {"layers", layers}}}};
}

// A frozen base of two Dense layers, and a head of 2 units with this name.
SubmittedModel Transfer(const std::string& head = "head") {
  json base = Sequential("base", {Dense("first", 3), Dense("second", 5)});
  base["config"]["trainable"] = false;
  SubmittedModel model;
  model.spec = nn::ReadKerasJson(Sequential("transfer", {base, Dense(head, 2)}).dump()).value();
  return model;
}

class WeightsStartTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = testing::TempDir() + "/weights_start_" + test->name();
  }

  // A job that resumes from a TF.js model with these weights. Their values are 0, 1 ... over all of
  // them. The topology of the model does not matter.
  proto::Job Resuming(const std::vector<Weight>& weights, float last = -1) {
    std::vector<float> values;
    json entries = json::array();
    for (const Weight& weight : weights) {
      int64_t count = 1;
      for (const int64_t size : weight.shape) count *= size;
      for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(values.size()));
      entries.push_back({{"name", weight.name}, {"shape", weight.shape}, {"dtype", "float32"}});
    }
    if (last != -1) values.back() = last;
    const json model = {{"format", "layers-model"},
                        {"modelTopology", {{"model_config", Sequential("any", {Dense("any", 1)})}}},
                        {"weightsManifest", {{{"paths", {"weights.bin"}}, {"weights", entries}}}}};
    EXPECT_TRUE(WriteFile(folder_ + "/weights.bin", {reinterpret_cast<const char*>(values.data()),
                                                     values.size() * sizeof(float)})
                    .ok());
    EXPECT_TRUE(WriteFile(folder_ + "/model.json", model.dump()).ok());
    proto::Job job;
    job.set_seed(7);
    job.mutable_resume_from()->set_name(folder_ + "/model.json");
    return job;
  }

  static std::string Refusal(const proto::Job& job, const SubmittedModel& model) {
    const auto warm = ReadWeightsStart(job, model);
    return warm.ok() ? "accepted" : std::string(warm.status().message());
  }

  // The weights with which the base was trained, under a top of its own.
  const std::vector<Weight> base_ = {{"first/kernel", {4, 3}},
                                     {"first/bias", {3}},
                                     {"second/kernel", {3, 5}},
                                     {"second/bias", {5}},
                                     {"top/kernel", {5, 1000}}};
  std::string folder_;
};

TEST_F(WeightsStartTest, ABaseThatIsALayerTakesItsWeightsFromTheFile) {
  const proto::Job job = Resuming(base_);
  const auto warm = ReadWeightsStart(job, Transfer());
  ASSERT_TRUE(warm.ok()) << warm.status();
  EXPECT_EQ(warm->taken, 4);
  ASSERT_EQ(warm->variables.size(), 6u);
  EXPECT_EQ(warm->variables[1], std::vector<float>({12, 13, 14}));
  EXPECT_EQ(warm->variables[2].front(), 15);
  EXPECT_EQ(warm->variables[4].size(), 10u);
  EXPECT_EQ(warm->variables[5], std::vector<float>({0, 0}));
  EXPECT_THAT(WarmStartNotes(*warm),
              ElementsAre(absl::StrCat("takes 4 variables from ", job.resume_from().name()),
                          "starts anew: head/kernel; head/bias", "has no place for: top/kernel"));
}

TEST_F(WeightsStartTest, NamesThatKerasMadeLongerAreFoundAndOtherValuesStay) {
  std::vector<Weight> weights = base_;
  for (Weight& weight : weights) weight.name = "mobilenet/" + weight.name + ":0";
  SubmittedModel model = Transfer();
  model.weights = {std::vector<float>(12), std::vector<float>(3),  std::vector<float>(15),
                   std::vector<float>(5),  std::vector<float>(10), {8, 9}};
  const auto warm = ReadWeightsStart(Resuming(weights), model);
  ASSERT_TRUE(warm.ok()) << warm.status();
  EXPECT_EQ(warm->taken, 4);
  EXPECT_EQ(warm->variables[1], std::vector<float>({12, 13, 14}));
  EXPECT_EQ(warm->variables[5], std::vector<float>({8, 9}));
}

// The head has the name of a layer of the base, so that layer is called base/first.
TEST_F(WeightsStartTest, TwoLayersThatCouldBeTheSameAreRefused) {
  EXPECT_THAT(Refusal(Resuming({{"first/kernel", {4, 3}}, {"first/bias", {3}}}), Transfer("first")),
              AllOf(HasSubstr("layers base/first and first could both"), HasSubstr("rename one")));
}

TEST_F(WeightsStartTest, ALayerOfTheBaseIsFoundThoughItsNameIsTaken) {
  json base = Sequential("base", {Dense("base", 3)});
  json model = Sequential("outer", {base, Dense("head", 2)});
  SubmittedModel submitted;
  submitted.spec = nn::ReadKerasJson(model.dump()).value();
  const auto warm =
      ReadWeightsStart(Resuming({{"base/kernel", {4, 3}}, {"base/bias", {3}}}), submitted);
  ASSERT_TRUE(warm.ok()) << warm.status();
  EXPECT_EQ(warm->taken, 2);
  EXPECT_THAT(warm->fresh, ElementsAre("head/kernel", "head/bias"));
}

TEST_F(WeightsStartTest, ADepthwiseKernelIsAKernelInKeras3) {
  const json layer = {{"class_name", "DepthwiseConv1D"},
                      {"config",
                       {{"name", "depthwise"},
                        {"kernel_size", 2},
                        {"use_bias", false},
                        {"batch_input_shape", {nullptr, 3, 6}}}}};
  SubmittedModel model;
  model.spec = nn::ReadKerasJson(Sequential("m", {layer}).dump()).value();
  for (const char* name : {"depthwise/kernel", "depthwise/depthwise_kernel"}) {
    const auto warm = ReadWeightsStart(Resuming({{name, {2, 6, 1}}}), model);
    ASSERT_TRUE(warm.ok()) << warm.status();
    EXPECT_EQ(warm->taken, 1) << name;
  }
}

TEST_F(WeightsStartTest, TheLayerInABidirectionalMayBeNamedAfterItsDirection) {
  json layer = Bidirectional("both");
  layer["config"]["layer"]["config"]["name"] = "forward_lstm";
  SubmittedModel model;
  model.spec = nn::ReadKerasJson(Sequential("m", {layer}).dump()).value();
  std::vector<Weight> weights;
  for (const char* pass : {"both/forward_lstm/lstm_cell/", "both/backward_lstm/lstm_cell/"}) {
    weights.push_back({absl::StrCat(pass, "kernel"), {6, 8}});
    weights.push_back({absl::StrCat(pass, "recurrent_kernel"), {2, 8}});
    weights.push_back({absl::StrCat(pass, "bias"), {8}});
  }
  const auto warm = ReadWeightsStart(Resuming(weights), model);
  ASSERT_TRUE(warm.ok()) << warm.status();
  EXPECT_EQ(warm->taken, 6);
}

// Keras starts its own names again in each session, so both layers wrap a layer "lstm".
TEST_F(WeightsStartTest, ALayerThatWrapsAnotherIsKnownByItsOwnName) {
  SubmittedModel model;
  model.spec = nn::ReadKerasJson(Sequential("m", {Bidirectional("bi_b")}).dump()).value();
  std::vector<Weight> weights = {{"bi_a/forward_lstm/kernel", {6, 8}}};
  EXPECT_THAT(Refusal(Resuming(weights), model), HasSubstr("it has none of this model's layers"));
  weights.push_back({"bi_b/forward_lstm/kernel", {6, 8}});
  EXPECT_THAT(Refusal(Resuming(weights), model),
              HasSubstr("layer bi_b lacks bi_b/forward_lstm/recurrent_kernel"));
}

TEST_F(WeightsStartTest, LayersThatDoNotFitAreRefusedByName) {
  std::vector<Weight> weights = base_;
  weights[2].shape = {3, 6};
  EXPECT_THAT(
      Refusal(Resuming(weights), Transfer()),
      AllOf(HasSubstr("resume_from: "), HasSubstr("model.json: layer second: second/kernel"),
            HasSubstr("(3, 5), there (3, 6)")));
  EXPECT_THAT(Refusal(Resuming(base_), Transfer("top")),
              AllOf(HasSubstr("layer top: top/kernel has the shape (5, 2), there (5, 1000)"),
                    HasSubstr("another name")));
  weights = base_;
  weights.erase(weights.begin() + 3);
  EXPECT_THAT(Refusal(Resuming(weights), Transfer()), HasSubstr("layer second lacks second/bias"));
  weights.push_back({"a/second/bias", {5}});
  weights.push_back({"b/second/bias", {5}});
  EXPECT_THAT(Refusal(Resuming(weights), Transfer()),
              HasSubstr("layer second: both a/second/bias and b/second/bias could be"));
  EXPECT_THAT(
      Refusal(Resuming({{"x/kernel", {4, 3}}, {"x/bias", {3}}, {"y/bias", {3}}}), Transfer()),
      HasSubstr("it has none of this model's layers but x, y"));
}

TEST_F(WeightsStartTest, AFrozenLayerThatWouldStayRandomIsRefused) {
  const proto::Job job = Resuming({{"first/kernel", {4, 3}}, {"first/bias", {3}}});
  SubmittedModel model = Transfer();
  EXPECT_THAT(Refusal(job, model),
              HasSubstr("it lacks these frozen layers, which would keep random values: second"));
  // The model's file has values for this layer.
  model.weights = {std::vector<float>(12), std::vector<float>(3),  std::vector<float>(15, 9),
                   std::vector<float>(5),  std::vector<float>(10), std::vector<float>(2)};
  const auto warm = ReadWeightsStart(job, model);
  ASSERT_TRUE(warm.ok()) << warm.status();
  EXPECT_EQ(warm->taken, 2);
  EXPECT_EQ(warm->variables[2], std::vector<float>(15, 9));
}

TEST_F(WeightsStartTest, FilesWithoutWeightsOrNumbersAreRefused) {
  proto::Job job = Resuming(base_, std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(ReadWeightsStart(job, Transfer()).ok()) << "the top is not taken";
  std::vector<Weight> weights = base_;
  weights.pop_back();
  job = Resuming(weights, std::numeric_limits<float>::quiet_NaN());
  EXPECT_THAT(Refusal(job, Transfer()), HasSubstr("second/bias is nan at element 4"));
  ASSERT_TRUE(WriteFile(folder_ + "/model.json", Sequential("m", {Dense("first", 3)}).dump()).ok());
  EXPECT_THAT(Refusal(job, Transfer()), HasSubstr("an architecture without weights"));
  job.mutable_resume_from()->set_name(folder_ + "/none.json");
  EXPECT_EQ(ReadWeightsStart(job, Transfer()).status().code(), absl::StatusCode::kNotFound);
}

// A model of one Dense layer, of which the file has the weights and the state of SGD with momentum.
class OptimizerStartTest : public WeightsStartTest {
 protected:
  OptimizerStartTest() {
    model_.spec = nn::ReadKerasJson(Sequential("m", {Dense("dense", 2)}).dump()).value();
  }
  proto::Job WithOptimizer(const std::vector<Weight>& weights, float updates = 6) {
    proto::Job job = Resuming(weights, updates);
    job.mutable_resume_from()->set_with_optimizer(true);
    job.mutable_optimizer()->set_name("sgd");
    job.mutable_optimizer()->set_momentum(0.9);
    return job;
  }
  // All but one of the weights.
  std::vector<Weight> Without(const std::string& name) const {
    std::vector<Weight> weights;
    for (const Weight& weight : weights_) {
      if (weight.name != name) weights.push_back(weight);
    }
    return weights;
  }

  // The values begin with 0, 8, 10, 18. The number of updates is the last one.
  const std::vector<Weight> weights_ = {{"dense/kernel", {4, 2}},
                                        {"dense/bias", {2}},
                                        {"optimizer/momentum/dense/kernel", {4, 2}},
                                        {"optimizer/momentum/dense/bias", {2}},
                                        {"optimizer/updates", {}}};
  SubmittedModel model_;
};

TEST_F(OptimizerStartTest, TheStateComesWithTheWeights) {
  const auto warm = ReadWeightsStart(WithOptimizer(weights_), model_);
  ASSERT_TRUE(warm.ok()) << warm.status();
  ASSERT_EQ(warm->states.size(), 2u);
  EXPECT_EQ(warm->states[0].values.front(), 0);
  EXPECT_EQ(warm->states[0].version, 6);
  EXPECT_THAT(warm->states[0].slots, ElementsAre("momentum"));
  EXPECT_EQ(warm->states[0].slot_values[0].front(), 10);
  EXPECT_EQ(warm->states[1].slot_values[0], std::vector<float>({18, 19}));
  EXPECT_THAT(WarmStartNotes(*warm),
              ElementsAre(HasSubstr("takes 2 variables and the optimizer's state from")));
}

TEST_F(OptimizerStartTest, WithoutItTheWeightsAloneAreTaken) {
  proto::Job job = WithOptimizer(weights_);
  job.mutable_resume_from()->clear_with_optimizer();
  const auto warm = ReadWeightsStart(job, model_);
  ASSERT_TRUE(warm.ok()) << warm.status();
  EXPECT_TRUE(warm->states.empty());
  EXPECT_EQ(warm->variables[1], std::vector<float>({8, 9}));
}

TEST_F(OptimizerStartTest, WeightsThatAreNotTrainedHaveNoSlots) {
  json layer = Dense("dense", 2);
  layer["config"]["trainable"] = false;
  model_.spec = nn::ReadKerasJson(Sequential("m", {layer}).dump()).value();
  const auto warm =
      ReadWeightsStart(WithOptimizer({weights_[0], weights_[1], weights_[4]}), model_);
  ASSERT_TRUE(warm.ok()) << warm.status();
  EXPECT_EQ(warm->states[0].version, 0);
  EXPECT_TRUE(warm->states[0].slots.empty());
}

TEST_F(OptimizerStartTest, AStateThatDoesNotFitIsRefused) {
  const auto refused = [this](const std::vector<Weight>& weights, float updates = 6) {
    return Refusal(WithOptimizer(weights, updates), model_);
  };
  EXPECT_THAT(refused(Without("optimizer/updates")),
              HasSubstr("it has no state of an optimizer (optimizer/updates)"));
  for (const float updates : {-2.0f, 6.5f, std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_THAT(refused(weights_, updates),
                HasSubstr("optimizer/updates is not a number of updates"));
  }
  EXPECT_THAT(refused(Without("optimizer/momentum/dense/bias")),
              HasSubstr("it lacks optimizer/momentum/dense/bias, which sgd keeps"));
  std::vector<Weight> weights = weights_;
  weights[3].shape = {3};
  EXPECT_THAT(refused(weights), HasSubstr("momentum/dense/bias has the shape (3,), expected (2,)"));
  weights[3] = {"optimizer/velocity/dense/bias", {2}};
  weights.push_back(weights_[3]);
  std::swap(weights[4], weights[5]);
  EXPECT_THAT(refused(weights),
              HasSubstr("it has optimizer/velocity/dense/bias, which sgd does not keep"));
  json two = Sequential("m", {Dense("dense", 2), Dense("head", 2)});
  model_.spec = nn::ReadKerasJson(two.dump()).value();
  EXPECT_THAT(refused(weights_), HasSubstr("it lacks head/kernel, head/bias; leave"));
}

}  // namespace
}  // namespace cairn::cli
