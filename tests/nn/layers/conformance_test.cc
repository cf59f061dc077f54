// Every layer, on every device that can train: outputs against plain loops in double precision,
// gradients against central differences of the same loops.

#include <cmath>
#include <cstring>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "common/random.h"
#include "gtest/gtest.h"
#include "nn/create_device.h"
#include "nn/executor.h"
#include "proto/job.pb.h"
#include "tests/nn/reference_model.h"
#include "tests/nn/test_model.h"

namespace cairn::nn::testing {
namespace {

struct Case {
  std::string name;
  std::vector<TestLayer> layers;
  int64_t batch_size = 3;
};

// Numbers between -1 and 1, away from zero, where many functions have an edge.
Doubles Draw(uint64_t key, int64_t count) {
  Doubles values;
  for (int64_t i = 0; i < count; ++i) {
    const float value = 2 * RandomUniform(key, i) - 1;
    values.push_back(value + (value < 0 ? -0.01f : 0.01f));
  }
  return values;
}

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class LayerConformanceTest : public ::testing::TestWithParam<Case> {
 protected:
  LayerConformanceTest()
      : model_(ModelOf(GetParam().layers)), device_(*CreateDevice("cpu")), executor_(nullptr) {
    proto::Loss loss;
    loss.set_name("mean_squared_error");
    loss_ = *CreateLoss(loss);
    executor_ = *Executor::Create(model_.get(), loss_.get(), {},
                                  {.batch_size = GetParam().batch_size}, device_.get());
    DrawBatch();
  }

  void DrawBatch() {
    batch_.size = GetParam().batch_size;
    batch_.random_key = 77;
    for (size_t i = 0; i < model_->inputs().size(); ++i) {
      const Model::Input& input = model_->inputs()[i];
      Doubles values = Draw(100 + i, batch_.size * ElementCount(input.spec.shape));
      // Ids are 0 to 3.
      if (input.spec.type == proto::INT32) {
        for (double& value : values) value = std::floor((value + 1.02) * 1.9);
      }
      batch_.inputs.push_back(values);
    }
    for (size_t v = 0; v < model_->variables().size(); ++v) {
      Doubles values = Draw(200 + v, model_->variables()[v].element_count());
      const bool is_variance = model_->variables()[v].name.find("variance") != std::string::npos;
      for (double& value : values) value = is_variance ? 0.5 + std::fabs(value) : value;
      std::copy(values.begin(), values.end(), executor_->values(v).begin());
      batch_.variables.push_back(std::move(values));
    }
    labels_ = Draw(300, batch_.size * ElementCount(model_->output_shape()));
  }

  // The batch as the executor takes it: valid until the next call.
  Executor::Batch DeviceBatch() {
    device_inputs_.clear();
    for (size_t i = 0; i < batch_.inputs.size(); ++i) {
      std::vector<float> values(batch_.inputs[i].begin(), batch_.inputs[i].end());
      if (model_->inputs()[i].spec.type == proto::INT32) {
        const std::vector<int32_t> ids(values.begin(), values.end());
        std::memcpy(values.data(), ids.data(), ids.size() * sizeof(int32_t));
      }
      device_inputs_.push_back(std::move(values));
    }
    device_labels_.assign(labels_.begin(), labels_.end());
    Executor::Batch batch{.size = batch_.size, .random_key = batch_.random_key};
    for (const std::vector<float>& input : device_inputs_) batch.inputs.push_back(input.data());
    batch.labels = device_labels_.data();
    return batch;
  }

  double ReferenceLoss() {
    batch_.training = true;
    const Doubles output = ReferenceOutput(*model_, batch_);
    double sum = 0;
    for (size_t i = 0; i < output.size(); ++i) {
      sum += (output[i] - labels_[i]) * (output[i] - labels_[i]);
    }
    return sum / output.size() + ReferencePenalty(*model_, batch_.variables);
  }

  double CentralDifference(double* value) {
    constexpr double kStep = 1e-6;
    const double before = *value;
    *value = before + kStep;
    const double above = ReferenceLoss();
    *value = before - kStep;
    const double below = ReferenceLoss();
    *value = before;
    return (above - below) / (2 * kStep);
  }

  void ExpectOutput(bool training) {
    batch_.training = training;
    const Doubles expected = ReferenceOutput(*model_, batch_);
    ASSERT_TRUE(executor_->Forward(DeviceBatch(), training).ok());
    ASSERT_EQ(executor_->output().size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(executor_->output()[i], expected[i], 1e-5 * std::max(1.0, std::fabs(expected[i])))
          << "element " << i << (training ? " in training" : " in inference");
    }
  }

  std::unique_ptr<Model> model_;
  std::unique_ptr<Loss> loss_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Executor> executor_;
  ReferenceBatch batch_;
  Doubles labels_;
  std::vector<std::vector<float>> device_inputs_;
  std::vector<float> device_labels_;
};

TEST_P(LayerConformanceTest, OutputsAreThoseOfPlainLoops) {
  ExpectOutput(/*training=*/false);
  ExpectOutput(/*training=*/true);
}

TEST_P(LayerConformanceTest, GradientsAreCentralDifferencesOfTheLoss) {
  const absl::StatusOr<Executor::Sums> sums = executor_->Forward(DeviceBatch(), /*training=*/true);
  ASSERT_TRUE(sums.ok()) << sums.status();
  const double loss = sums->loss_sum / static_cast<double>(sums->examples) + sums->penalty;
  EXPECT_NEAR(loss, ReferenceLoss(), 1e-5 * std::max(1.0, loss));
  std::vector<bool> was_called(model_->variables().size(), false);
  executor_->Backward([&](int variable) { was_called[variable] = true; });

  for (size_t v = 0; v < model_->variables().size(); ++v) {
    const VariableSpec& variable = model_->variables()[v];
    EXPECT_EQ(was_called[v], variable.update != VariableSpec::Update::kFrozen) << variable.name;
    if (variable.update != VariableSpec::Update::kOptimized) continue;
    for (int64_t i = 0; i < variable.element_count(); ++i) {
      const double expected = CentralDifference(&batch_.variables[v][i]);
      ASSERT_NEAR(executor_->gradient(v)[i], expected, 2e-5 * std::max(1.0, std::fabs(expected)))
          << variable.name << " at " << i;
    }
  }
}

TEST_P(LayerConformanceTest, StepsRepeatToTheBit) {
  const auto gradients = [&] {
    EXPECT_TRUE(executor_->Forward(DeviceBatch(), /*training=*/true).ok());
    std::vector<float> all;
    executor_->Backward([&](int variable) {
      const absl::Span<const float> gradient = executor_->gradient(variable);
      all.insert(all.end(), gradient.begin(), gradient.end());
    });
    return all;
  };
  const std::vector<float> first = gradients();
  EXPECT_EQ(first, gradients());
}

TEST_P(LayerConformanceTest, SmallerBatchesAreComputedAsIfAlone) {
  batch_.size = 1;
  for (size_t i = 0; i < batch_.inputs.size(); ++i) {
    batch_.inputs[i].resize(ElementCount(model_->inputs()[i].spec.shape));
  }
  labels_.resize(ElementCount(model_->output_shape()));
  ExpectOutput(/*training=*/false);
}

// A layer between two dense ones, so that gradients must flow through it; `shape` is the input's.
Case Between(const std::string& name, const std::string& shape, const TestLayer& layer) {
  return {name,
          {{"input", "InputLayer", R"({"batch_shape": [null, )" + shape + "]}"},
           {"before", "Dense", R"({"units": 4, "activation": "tanh"})"},
           layer,
           {"after", "Dense", R"({"units": 3})"}}};
}

Case Convolution(const std::string& name, const std::string& shape, const std::string& config) {
  return Between(name, shape, {"layer", "Conv2D", "{" + config + "}"});
}

std::vector<Case> DenseCases() {
  std::vector<Case> cases = {
      Between("DenseOfOneUnit", "5", {"layer", "Dense", R"({"units": 1})"}),
      Between("DenseWithoutBias", "5", {"layer", "Dense", R"({"units": 7, "use_bias": false})"}),
      Between("DenseOverAxes", "2, 3, 5", {"layer", "Dense", R"({"units": 6})"}),
      Between("DenseRegularized", "5",
              {"layer", "Dense",
               R"({"units": 6, "kernel_regularizer": {"class_name": "L1L2", "config":
                   {"l1": 0.02, "l2": 0.03}}, "bias_regularizer": "l2"})"}),
      Between("DenseLarge", "40", {"layer", "Dense", R"({"units": 90, "activation": "relu"})"}),
      Between("Frozen", "5", {"layer", "Dense", R"({"units": 6, "trainable": false})"}),
  };
  cases.back().layers[1].config = R"({"units": 4, "trainable": false})";
  for (const char* activation :
       {"linear", "relu", "relu6", "leaky_relu", "sigmoid", "hard_sigmoid", "tanh", "softmax",
        "softplus", "softsign", "elu", "selu", "gelu", "swish", "silu", "exponential"}) {
    cases.push_back(Between(
        std::string("DenseActivation_") + activation, "5",
        {"layer", "Dense", R"({"units": 6, "activation": ")" + std::string(activation) + R"("})"}));
    cases.push_back(Between(
        std::string("Activation_") + activation, "2, 5",
        {"layer", "Activation", R"({"activation": ")" + std::string(activation) + R"("})"}));
  }
  return cases;
}

std::vector<Case> ConvolutionCases() {
  return {
      Convolution("ConvolutionSame", "7, 5, 2", R"("filters": 5, "kernel_size": 3,
                  "padding": "same", "activation": "relu")"),
      Convolution("ConvolutionValid", "7, 5, 2", R"("filters": 5, "kernel_size": [3, 2])"),
      Convolution("ConvolutionStrided", "8, 5, 3", R"("filters": 6, "kernel_size": [3, 3],
                  "strides": [2, 3], "padding": "same", "activation": "gelu")"),
      Convolution("ConvolutionDilated", "9, 8, 3", R"("filters": 3, "kernel_size": [3, 2],
                  "dilation_rate": [2, 3], "padding": "same", "use_bias": false)"),
      Convolution("ConvolutionGrouped", "5, 5, 3", R"("filters": 6, "kernel_size": 3,
                  "groups": 2, "padding": "same")"),
      Convolution("ConvolutionDepthwise", "5, 5, 3", R"("filters": 4, "kernel_size": 2,
                  "groups": 4)"),
      Convolution("ConvolutionWide", "6, 6, 3", R"("filters": 32, "kernel_size": 3,
                  "padding": "same", "activation": "relu")"),
      Convolution("ConvolutionOfOnePixel", "4, 3, 2", R"("filters": 17, "kernel_size": 1)"),
      Convolution("ConvolutionOfTheWholeImage", "4, 3, 2", R"("filters": 5,
                  "kernel_size": [4, 3])"),
      Convolution("ConvolutionEvenSame", "5, 6, 2", R"("filters": 5, "kernel_size": [2, 4],
                  "padding": "same", "strides": 2)"),
      {"ConvolutionOfTheInput",
       {{"input", "InputLayer", R"({"batch_shape": [null, 7, 9, 1]})"},
        {"layer", "Conv2D",
         R"({"filters": 32, "kernel_size": 3, "padding": "same", "activation": "relu"})"},
        {"pool", "MaxPooling2D"},
        {"flat", "Flatten"},
        {"after", "Dense", R"({"units": 3})"}}},
      {"ConvolutionOfColours",
       {{"input", "InputLayer", R"({"batch_shape": [null, 6, 5, 3]})"},
        {"layer", "Conv2D", R"({"filters": 16, "kernel_size": 3, "activation": "relu"})"},
        {"after", "Dense", R"({"units": 3})"}}},
  };
}

std::vector<Case> PoolingCases() {
  return {
      Between("MaxPooling", "6, 4, 2", {"layer", "MaxPooling2D"}),
      Between("MaxPoolingCutsOff", "7, 5, 2", {"layer", "MaxPooling2D"}),
      Between("MaxPoolingOverlapping", "7, 5, 2",
              {"layer", "MaxPooling2D", R"({"pool_size": 3, "strides": [1, 2]})"}),
      Between("MaxPoolingSame", "7, 5, 2",
              {"layer", "MaxPooling2D", R"({"pool_size": [3, 2], "padding": "same"})"}),
      Between("AveragePooling", "6, 4, 2", {"layer", "AveragePooling2D"}),
      Between("AveragePoolingOverlapping", "7, 5, 2",
              {"layer", "AveragePooling2D", R"({"pool_size": [3, 2], "strides": 1})"}),
      Between("AveragePoolingSameWithoutPadding", "6, 4, 2",
              {"layer", "AveragePooling2D", R"({"pool_size": 2, "padding": "same"})"}),
      Between("GlobalAverage", "5, 3, 2", {"layer", "GlobalAveragePooling2D"}),
      Between("GlobalAverageKeepingDimensions", "5, 3, 2",
              {"layer", "GlobalAveragePooling2D", R"({"keepdims": true})"}),
  };
}

std::vector<Case> ShapeCases() {
  return {
      Between("Flatten", "2, 3, 2", {"layer", "Flatten"}),
      Between("Reshape", "2, 3", {"layer", "Reshape", R"({"target_shape": [2, -1]})"}),
      Between("Dropout", "6", {"layer", "Dropout", R"({"rate": 0.4})"}),
      Between("DropoutOfNothing", "6", {"layer", "Dropout", R"({"rate": 0})"}),
      Between("ReLU", "6",
              {"layer", "ReLU", R"({"max_value": 0.5, "negative_slope": 0.1, "threshold": 0.2})"}),
      Between("LeakyReLU", "6", {"layer", "LeakyReLU"}),
      Between("LeakyReLUOfKeras2", "6", {"layer", "LeakyReLU", R"({"alpha": 0.1})"}),
      Between("ELU", "6", {"layer", "ELU", R"({"alpha": 0.7})"}),
      Between("Softmax", "2, 3", {"layer", "Softmax"}),
      Between("BatchNormalization", "6", {"layer", "BatchNormalization"}),
      Between("BatchNormalizationOfImages", "3, 4, 2",
              {"layer", "BatchNormalization", R"({"epsilon": 0.01, "momentum": 0.9})"}),
      Between("BatchNormalizationBare", "6",
              {"layer", "BatchNormalization", R"({"center": false, "scale": false})"}),
      Between("BatchNormalizationWithoutScale", "6",
              {"layer", "BatchNormalization", R"({"scale": false, "axis": [1]})"}),
      Between("BatchNormalizationFrozen", "6",
              {"layer", "BatchNormalization", R"({"trainable": false})"}),
  };
}

const TestLayer kVectorInput = {"input", "InputLayer", R"({"batch_shape": [null, 5]})"};
const TestLayer kIdInput = {"ids", "InputLayer", R"({"batch_shape": [null, 3], "dtype": "int32"})"};

std::vector<Case> GraphCases() {
  return {
      {"Embedding",
       {kIdInput,
        {"table", "Embedding", R"({"input_dim": 4, "output_dim": 5})"},
        {"after", "Dense", R"({"units": 2})"}}},
      {"EmbeddingOfFlattenedIds",
       {{"ids", "InputLayer", R"({"batch_shape": [null, 2, 2], "dtype": "int32"})"},
        {"flat", "Flatten"},
        {"table", "Embedding", R"({"input_dim": 4, "output_dim": 1})"}}},
      {"TwoInputs",
       {kIdInput,
        {"table", "Embedding", R"({"input_dim": 4, "output_dim": 5})"},
        {"flat", "Flatten"},
        kVectorInput,
        {"wide", "Dense", R"({"units": 3})"},
        {"join", "Concatenate", "{}", {"flat", "wide"}},
        {"after", "Dense", R"({"units": 2})"}}},
      {"ConcatenateAlongRows",
       {{"input", "InputLayer", R"({"batch_shape": [null, 2, 5]})"},
        {"left", "Dense", R"({"units": 3})", {"input"}},
        {"right", "Dense", R"({"units": 3})", {"input"}},
        {"join", "Concatenate", R"({"axis": 1})", {"left", "right"}},
        {"after", "Dense", R"({"units": 2})"}}},
      {"Residual",
       {kVectorInput,
        {"stem", "Dense", R"({"units": 4})"},
        {"branch", "Dense", R"({"units": 4, "activation": "tanh"})", {"stem"}},
        {"sum", "Add", "{}", {"stem", "branch"}},
        {"after", "Dense", R"({"units": 2})"}}},
      {"SumOfOneThreeTimes",
       {kVectorInput,
        {"stem", "Dense", R"({"units": 4})"},
        {"sum", "Add", "{}", {"stem", "stem", "stem"}},
        {"after", "Dense", R"({"units": 2})"}}},
      {"ViewWithTwoTakers",
       {{"input", "InputLayer", R"({"batch_shape": [null, 2, 3]})"},
        {"stem", "Dense", R"({"units": 4})"},
        {"flat", "Flatten", "{}", {"stem"}},
        {"shape", "Reshape", R"({"target_shape": [8]})", {"stem"}},
        {"left", "Activation", R"({"activation": "sigmoid"})", {"flat"}},
        {"right", "Activation", R"({"activation": "tanh"})", {"shape"}},
        {"sum", "Add", "{}", {"left", "right"}},
        {"after", "Dense", R"({"units": 2})"}}},
      {"EndsInAView",
       {kVectorInput,
        {"stem", "Dense", R"({"units": 4})"},
        {"shape", "Reshape", R"({"target_shape": [2, 2]})"}}},
      {"FrozenBelowTrained",
       {kVectorInput,
        {"base", "Dense", R"({"units": 4, "trainable": false, "kernel_regularizer": "l2"})"},
        {"head", "Dense", R"({"units": 2})"}}},
  };
}

std::vector<Case> AllCases() {
  std::vector<Case> all;
  for (const auto& cases :
       {DenseCases(), ConvolutionCases(), PoolingCases(), ShapeCases(), GraphCases()}) {
    all.insert(all.end(), cases.begin(), cases.end());
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Layers, LayerConformanceTest, ::testing::ValuesIn(AllCases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace cairn::nn::testing
