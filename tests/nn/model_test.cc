#include "nn/model.h"

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/nn/test_model.h"

namespace cairn::nn::testing {
namespace {

const TestLayer kImages = {"input", "InputLayer", R"({"batch_shape": [null, 28, 28, 1]})"};
const TestLayer kVectors = {"input", "InputLayer", R"({"batch_shape": [null, 5]})"};

TEST(ModelTest, ShapesAndVariablesFollowFromTheLayers) {
  const std::unique_ptr<Model> model =
      ModelOf({kImages,
               {"conv", "Conv2D", R"({"filters": 32, "kernel_size": 3, "padding": "same"})"},
               {"norm", "BatchNormalization", R"({"momentum": 0.9})"},
               {"pool", "MaxPooling2D"},
               {"flat", "Flatten"},
               {"out", "Dense", R"({"units": 10, "trainable": false})"}});
  EXPECT_EQ(model->output_shape(), Shape({10}));
  ASSERT_EQ(model->inputs().size(), 1u);
  EXPECT_EQ(model->inputs()[0].name, "input");
  EXPECT_EQ(model->inputs()[0].spec.shape, Shape({28, 28, 1}));

  std::vector<std::string> names;
  for (const VariableSpec& variable : model->variables()) names.push_back(variable.name);
  EXPECT_EQ(names, std::vector<std::string>({"conv/kernel", "conv/bias", "norm/gamma", "norm/beta",
                                             "norm/moving_mean", "norm/moving_variance",
                                             "out/kernel", "out/bias"}));
  using Update = VariableSpec::Update;
  EXPECT_EQ(model->variables()[0].shape, Shape({3, 3, 1, 32}));
  EXPECT_EQ(model->variables()[0].update, Update::kOptimized);
  EXPECT_EQ(model->variables()[4].update, Update::kMovingAverage);
  EXPECT_EQ(model->variables()[4].momentum, 0.9);
  EXPECT_EQ(model->variables()[6].shape, Shape({14 * 14 * 32, 10}));
  EXPECT_EQ(model->variables()[6].update, Update::kFrozen);
}

TEST(ModelTest, AFrozenBatchNormalizationHasNoMovingAverages) {
  const std::unique_ptr<Model> model =
      ModelOf({kVectors, {"norm", "BatchNormalization", R"({"trainable": false})"}});
  for (const VariableSpec& variable : model->variables()) {
    EXPECT_EQ(variable.update, VariableSpec::Update::kFrozen) << variable.name;
  }
}

// Of a layer whose calls are training ('t') or inference ('i'), one after the other.
std::unique_ptr<Model> NormalizedSeveralTimes(const std::string& calls, double momentum) {
  std::vector<TestLayer> layers = {kVectors};
  for (size_t i = 0; i < calls.size(); ++i) {
    layers.push_back({.name = i == 0 ? "norm" : absl::StrCat("norm:", i),
                      .class_name = "BatchNormalization",
                      .config = absl::StrCat(R"({"momentum": )", momentum, "}"),
                      .shares = i == 0 ? "" : "norm",
                      .inference_only = calls[i] == 'i'});
  }
  return ModelOf(layers);
}

TEST(ModelTest, MovingAveragesOfSeveralCallsAreThoseOfOneUpdateAfterTheOther) {
  for (const double momentum : {0.0, 0.3, 0.99, 1.0}) {
    for (const std::string calls : {"t", "tt", "ttttt", "ti", "it", "tit", "iitti"}) {
      const std::unique_ptr<Model> model = NormalizedSeveralTimes(calls, momentum);
      double one_by_one = 5;
      double sum = 0;
      for (size_t i = 0; i < calls.size(); ++i) {
        const double statistic = 2.0 + 3.0 * static_cast<double>(i);
        if (calls[i] == 't') one_by_one = momentum * one_by_one + (1 - momentum) * statistic;
        const double weight = model->nodes()[1 + i].statistic_weight;
        EXPECT_EQ(weight == 0, calls[i] == 'i' || (momentum == 0 && calls.rfind('t') != i));
        sum += weight * statistic;
      }
      for (const VariableSpec& variable : model->variables()) {
        if (!variable.name.starts_with("norm/moving")) continue;
        EXPECT_EQ(variable.update, VariableSpec::Update::kMovingAverage);
        EXPECT_NEAR(variable.momentum * 5 + (1 - variable.momentum) * sum, one_by_one, 1e-12)
            << calls << " " << momentum;
      }
    }
  }
  const std::unique_ptr<Model> infers = NormalizedSeveralTimes("ii", 0.9);
  for (const VariableSpec& variable : infers->variables()) {
    if (!variable.name.starts_with("norm/moving")) continue;
    EXPECT_EQ(variable.update, VariableSpec::Update::kFrozen);
  }
}

TEST(ModelTest, WideIntegersAreIds) {
  for (const char* type : {"int32", "int64", "uint8"}) {
    const std::unique_ptr<Model> model =
        ModelOf({{"ids", "InputLayer",
                  R"({"batch_shape": [null, 3], "dtype": ")" + std::string(type) + R"("})"},
                 {"table", "Embedding", R"({"input_dim": 7, "output_dim": 2})"}});
    EXPECT_EQ(model->inputs()[0].spec.type, proto::INT32);
    EXPECT_EQ(model->output_shape(), Shape({3, 2}));
  }
}

TEST(ModelTest, AHugeModelCostsNothingToDescribe) {
  const std::unique_ptr<Model> model =
      ModelOf({{"ids", "InputLayer", R"({"batch_shape": [null, 3], "dtype": "int32"})"},
               {"table", "Embedding", R"({"input_dim": 2000000000, "output_dim": 500})"}});
  EXPECT_EQ(model->variables()[0].element_count(), 1000000000000);
}

TEST(ModelTest, AMaskThatALayerWouldIgnoreIsRefused) {
  const auto normalized = [](const char* config) {
    return SpecOf(
        {{"ids", "InputLayer", R"({"batch_shape": [null, 3], "dtype": "int32"})"},
         {"table", "Embedding", R"({"input_dim": 7, "output_dim": 2, "mask_zero": true})"},
         {"norm", "BatchNormalization", config},
         {"last", "LSTM", R"({"units": 2})"}});
  };
  EXPECT_TRUE(Model::Create(normalized(R"({"trainable": false})")).ok());
  const std::string error(Model::Create(normalized("{}")).status().message());
  EXPECT_EQ(error,
            "layer 'norm' (BatchNormalization): its input has the mask of layer 'ids', and masked "
            "steps are not supported in this layer");
}

TEST(ModelTest, AMaskBesidesInitialStatesIsRefused) {
  proto::ModelSpec spec =
      SpecOf({{"ids", "InputLayer", R"({"batch_shape": [null, 3], "dtype": "int32"})"},
              {"table", "Embedding", R"({"input_dim": 7, "output_dim": 2, "mask_zero": true})"},
              {"state", "LSTM", R"({"units": 2})"},
              {"last", "GRU", R"({"units": 2})", {"table", "state"}}});
  const std::string error(Model::Create(spec).status().message());
  EXPECT_EQ(error,
            "layer 'last' (GRU): its input has the mask of layer 'ids', and masked steps are not "
            "supported in this layer");
  auto& arguments = *spec.mutable_layers(3)->mutable_config()->mutable_fields();
  arguments["ignores_mask"].set_bool_value(true);
  EXPECT_TRUE(Model::Create(spec).ok()) << Model::Create(spec).status();
}

TEST(ModelTest, AttentionRemovesTheMaskOfItsInputsForTheNextOne) {
  const std::string attention = R"({"num_heads": 1, "key_dim": 2})";
  const std::unique_ptr<Model> model =
      ModelOf({{"ids", "InputLayer", R"({"batch_shape": [null, 3], "dtype": "int32"})"},
               {"table", "Embedding", R"({"input_dim": 7, "output_dim": 2, "mask_zero": true})"},
               {"first", "MultiHeadAttention", attention, {"table", "table"}},
               {"of_table", "GlobalAveragePooling1D", "{}", {"table"}},
               {"sum", "Add", "{}", {"table", "first"}},
               {"of_sum", "MultiHeadAttention", attention, {"sum", "first"}},
               {"last", "GlobalAveragePooling1D", "{}", {"of_sum"}},
               {"all", "Concatenate", "{}", {"of_table", "last"}}});
  const auto masks = [&](int node) { return model->nodes()[node].masks; };
  EXPECT_EQ(masks(2), std::vector<int>({0, 0}));
  EXPECT_EQ(masks(3), std::vector<int>({0}));
  EXPECT_EQ(masks(5), std::vector<int>({-1, 0}));
  EXPECT_EQ(masks(6), std::vector<int>({0}));
}

TEST(ModelTest, AJoinOfASequenceWhoseMaskAttentionHasRemovedIsRefusedByTheNextOne) {
  const std::string attention = R"({"num_heads": 1, "key_dim": 2})";
  std::vector<TestLayer> layers = {
      {"ids", "InputLayer", R"({"batch_shape": [null, 3], "dtype": "int32"})"},
      {"table", "Embedding", R"({"input_dim": 7, "output_dim": 2, "mask_zero": true})"},
      {"first", "MultiHeadAttention", attention, {"table", "table"}},
      {"joined", "Concatenate", R"({"axis": 1})", {"table", "first"}},
      {"last", "GRU", R"({"units": 2})"}};
  EXPECT_TRUE(Model::Create(SpecOf(layers)).ok());
  layers.back() = {"last", "MultiHeadAttention", attention, {"joined", "joined"}};
  EXPECT_EQ(
      Model::Create(SpecOf(layers)).status().message(),
      "layer 'last' (MultiHeadAttention): its input joins sequences, from one of which another "
      "MultiHeadAttention has removed the mask (in Keras 3); that is not supported");
}

// An invalid model and what the error message must contain.
struct BadModel {
  std::string name;
  std::vector<TestLayer> layers;
  std::vector<std::string> says;
};

void PrintTo(const BadModel& model, std::ostream* out) { *out << model.name; }

class BadModelTest : public ::testing::TestWithParam<BadModel> {};

TEST_P(BadModelTest, IsRefusedByNameAndReason) {
  const absl::Status status = Model::Create(SpecOf(GetParam().layers)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  for (const std::string& words : GetParam().says) {
    EXPECT_NE(std::string(status.message()).find(words), std::string::npos)
        << "'" << words << "' is not in: " << status.message();
  }
}

BadModel Bad(const std::string& name, const TestLayer& input, const TestLayer& layer,
             const std::vector<std::string>& says) {
  return {name, {input, layer}, says};
}

std::vector<BadModel> BadLayers() {
  return {
      Bad("UnknownClass", kVectors, {"d", "Dens"}, {"'d'", "unknown class 'Dens'", "Dense"}),
      Bad("UnknownArgument", kVectors, {"d", "Dense", R"({"units": 3, "unit": 4})"},
          {"layer 'd' (Dense)", "unknown argument 'unit'", "use_bias"}),
      Bad("UnknownActivation", kVectors, {"d", "Dense", R"({"units": 3, "activation": "x"})"},
          {"argument 'activation'", "'x'", "relu"}),
      Bad("UnknownInitializer", kVectors,
          {"d", "Dense", R"({"units": 3, "kernel_initializer": "x"})"},
          {"argument 'kernel_initializer'", "'x'", "GlorotUniform"}),
      Bad("UnknownRegularizer", kVectors,
          {"d", "Dense", R"({"units": 3, "bias_regularizer": "x"})"},
          {"argument 'bias_regularizer'", "'x'", "L1L2"}),
      Bad("Constraint", kVectors,
          {"d", "Dense", R"({"units": 3, "kernel_constraint": {"class_name": "NoNeg"}})"},
          {"argument 'kernel_constraint'", "'NoNeg'", "NonNeg"}),
      Bad("ActivityRegularizer", kVectors,
          {"d", "Dense", R"({"units": 3, "activity_regularizer": "l3"})"},
          {"argument 'activity_regularizer'", "'l3'", "L1L2"}),
      Bad("MissingUnits", kVectors, {"d", "Dense"}, {"argument 'units' is missing"}),
      Bad("FractionalUnits", kVectors, {"d", "Dense", R"({"units": 2.5})"}, {"'units'", "2.5"}),
      Bad("NegativeUnits", kVectors, {"d", "Dense", R"({"units": -1})"}, {"'units'", "-1"}),
      Bad("UnitsAsText", kVectors, {"d", "Dense", R"({"units": "ten"})"}, {"'units'", "ten"}),
      Bad("FlagAsNumber", kVectors, {"d", "Dense", R"({"units": 3, "use_bias": 1})"},
          {"'use_bias'", "true or false"}),
      Bad("TooManyUnits", kVectors, {"d", "Dense", R"({"units": 1e12})"}, {"'d'", "elements"}),
      Bad("InputOfTheWrongRank", kVectors, {"c", "Conv2D", R"({"filters": 1, "kernel_size": 1})"},
          {"'c'", "3 dimension(s)", "(5,)"}),
      Bad("ChannelsFirst", kImages,
          {"c", "Conv2D", R"({"filters": 1, "kernel_size": 1, "data_format": "channels_first"})"},
          {"'data_format'", "channels_last"}),
      Bad("CausalPadding", kImages,
          {"c", "Conv2D", R"({"filters": 1, "kernel_size": 1, "padding": "causal"})"},
          {"'padding'", "valid, same"}),
      Bad("WindowLargerThanTheImage", kImages,
          {"c", "Conv2D", R"({"filters": 1, "kernel_size": 29})"}, {"29", "28"}),
      Bad("WindowBeyondAllBounds", kImages,
          {"c", "Conv2D", R"({"filters": 1, "kernel_size": [4000000000, 4000000000]})"}, {"'c'"}),
      Bad("KernelOfThreeSides", kImages,
          {"c", "Conv2D", R"({"filters": 1, "kernel_size": [1, 2, 3]})"}, {"'kernel_size'", "3"}),
      Bad("GroupsThatDoNotDivide", kImages,
          {"c", "Conv2D", R"({"filters": 4, "kernel_size": 1, "groups": 3})"}, {"'groups'", "3"}),
      Bad("ReshapeThatDoesNotFit", kVectors, {"r", "Reshape", R"({"target_shape": [2, 3]})"},
          {"'target_shape'", "(2, 3)", "(5,)"}),
      Bad("ReshapeWithTwoUnknowns", kVectors, {"r", "Reshape", R"({"target_shape": [-1, -1]})"},
          {"'target_shape'"}),
      Bad("DropoutAboveOne", kVectors, {"d", "Dropout", R"({"rate": 1.5})"}, {"'rate'", "1.5"}),
      Bad("DropoutWithoutRate", kVectors, {"d", "Dropout"}, {"'rate'"}),
      Bad("NormalizationOverRows", kImages, {"n", "BatchNormalization", R"({"axis": 1})"},
          {"'axis'", "last"}),
      Bad("SynchronizedNormalization", kVectors,
          {"n", "BatchNormalization", R"({"synchronized": true})"}, {"'synchronized'"}),
      Bad("MoreRowsThanIds", kVectors,
          {"e", "Embedding", R"({"input_dim": 3000000000, "output_dim": 2})"}, {"'input_dim'"}),
      Bad("SumOfOne", kVectors, {"a", "Add"}, {"at least 2"}),
  };
}

std::vector<BadModel> BadGraphs() {
  const TestLayer images = {"images", "InputLayer", R"({"batch_shape": [null, 4, 4, 2]})"};
  return {
      {"Empty", {}, {"outputs"}},
      {"UnknownDimension",
       {{"input", "InputLayer", R"({"batch_shape": [null, null, 3]})"}, {"flat", "Flatten"}},
       {"'input'", "batch_shape"}},
      {"NoShape", {{"input", "InputLayer"}, {"flat", "Flatten"}}, {"batch_shape", "missing"}},
      {"TextInput",
       {{"input", "InputLayer", R"({"batch_shape": [null, 3], "dtype": "string"})"},
        {"flat", "Flatten"}},
       {"'flat'", "'input' is text, which only a StringLookup takes"}},
      {"IdsIntoDense",
       {{"ids", "InputLayer", R"({"batch_shape": [null, 3], "dtype": "int32"})"},
        {"d", "Dense", R"({"units": 3})"}},
       {"'d'", "float32", "INT32"}},
      {"IdsAsOutput",
       {{"ids", "InputLayer", R"({"batch_shape": [null, 3], "dtype": "int32"})"},
        {"flat", "Flatten"}},
       {"output 'flat' is not float32"}},
      {"SameNameTwice",
       {kVectors, {"d", "Dropout", R"({"rate": 0})"}, {"d", "Flatten"}},
       {"'d'", "same name"}},
      {"InputThatDoesNotExist",
       {kVectors, {"d", "Flatten", "{}", {"nobody"}}},
       {"'d'", "'nobody'"}},
      {"InputThatComesLater",
       {kVectors, {"a", "Flatten", "{}", {"b"}}, {"b", "Flatten", "{}", {"input"}}},
       {"'a'", "'b'"}},
      {"TwoInputsIntoDense",
       {kVectors, {"d", "Dense", R"({"units": 1})", {"input", "input"}}},
       {"exactly 1"}},
      {"SumOfDifferentShapes",
       {kVectors, images, {"a", "Add", "{}", {"input", "images"}}},
       {"(5,)", "(4, 4, 2)"}},
      {"ConcatenationOfDifferentShapes",
       {kVectors, images, {"c", "Concatenate", "{}", {"input", "images"}}},
       {"(5,)", "(4, 4, 2)"}},
      {"ConcatenationAlongTheBatch",
       {kVectors, {"c", "Concatenate", R"({"axis": 0})", {"input", "input"}}},
       {"'axis'", "batch"}},
      {"LayerThatLeadsNowhere",
       {kVectors, {"lost", "Dense", R"({"units": 1})"}, {"d", "Flatten", "{}", {"input"}}},
       {"'lost'", "output"}},
  };
}

std::string NameOf(const ::testing::TestParamInfo<BadModel>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Layers, BadModelTest, ::testing::ValuesIn(BadLayers()), NameOf);
INSTANTIATE_TEST_SUITE_P(Graphs, BadModelTest, ::testing::ValuesIn(BadGraphs()), NameOf);

TEST(ModelTest, OutputsAreInTheOrderInWhichTheyAreListed) {
  proto::ModelSpec spec = SpecOf({kVectors,
                                  {"left", "Dense", R"({"units": 2})", {"input"}},
                                  {"right", "Dense", R"({"units": 3})", {"input"}}});
  spec.add_outputs("left");
  const std::unique_ptr<Model> model = *Model::Create(spec);
  ASSERT_EQ(model->outputs().size(), 2u);
  EXPECT_EQ(model->outputs()[0].name, "right");
  EXPECT_EQ(model->outputs()[1].shape, Shape({2}));
}

TEST(ModelTest, AnInputLayerThatIsNoInputOfTheModelIsRefused) {
  proto::ModelSpec spec = SpecOf({kVectors, {"d", "Flatten"}});
  spec.clear_inputs();
  EXPECT_EQ(Model::Create(spec).status().code(), absl::StatusCode::kInvalidArgument);
  spec.add_inputs("d");
  EXPECT_EQ(Model::Create(spec).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace cairn::nn::testing
