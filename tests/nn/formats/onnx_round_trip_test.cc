// Writes each model of the conformance suite as an ONNX file and reads the file back. The model
// that is read computes the same outputs. Layers that cannot be written or read are refused by
// name. What is written step by step, or with masks, is not read
// (tests/interop/formats/onnx_test.py has ONNX Runtime for it).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "common/random.h"
#include "nn/create_device.h"
#include "nn/executor.h"
#include "nn/formats/onnx_file.h"
#include "nn/formats/onnx_reader.h"
#include "proto/onnx.pb.h"
#include "tests/nn/layers/conformance_cases.h"

namespace cairn::nn::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int64_t kBatch = 3;

std::vector<float> Draw(uint64_t key, int64_t count) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(2 * RandomUniform(key, i) - 1);
  return values;
}

// Weights for the variables of a model. Variances are positive.
std::vector<NamedTensor> DrawWeights(const Model& model) {
  std::vector<NamedTensor> weights;
  for (size_t v = 0; v < model.variables().size(); ++v) {
    const VariableSpec& variable = model.variables()[v];
    weights.push_back({variable.name, variable.shape, Draw(200 + v, variable.element_count())});
    if (variable.name.find("variance") == std::string::npos) continue;
    for (float& value : weights.back().values) value = 0.5f + std::fabs(value);
  }
  return weights;
}

// Inputs for a model. Ids are 0 to 3.
std::vector<std::vector<float>> DrawInputs(const Model& model) {
  std::vector<std::vector<float>> inputs;
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    const TensorSpec& spec = model.inputs()[i].spec;
    inputs.push_back(Draw(100 + i, kBatch * ElementCount(spec.shape)));
    if (spec.type != proto::INT32) continue;
    for (float& value : inputs.back()) {
      const auto id = static_cast<int32_t>((value + 1) * 1.99f);
      std::memcpy(&value, &id, sizeof(id));
    }
  }
  return inputs;
}

std::vector<float> Predict(const Model& model, const std::vector<NamedTensor>& weights,
                           const std::vector<std::vector<float>>& inputs) {
  const std::unique_ptr<Device> device = *CreateDevice("cpu");
  const Objective objective;
  const auto executor = *Executor::Create(&model, &objective,
                                          {.batch_size = kBatch, .training = false}, device.get());
  for (size_t v = 0; v < weights.size(); ++v) {
    std::copy(weights[v].values.begin(), weights[v].values.end(), executor->values(v).begin());
  }
  Executor::Batch batch{.size = kBatch};
  for (const std::vector<float>& input : inputs) batch.inputs.push_back(input.data());
  EXPECT_TRUE(executor->Forward(batch, /*training=*/false).ok());
  const absl::Span<const float> output = *executor->output();
  return {output.begin(), output.end()};
}

// Whether a file has masks, or a recurrent layer step by step.
bool IsOnlyWritten(const std::string& file) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(file));
  return absl::c_any_of(model.graph().node(), [](const onnx::NodeProto& node) {
    return node.op_type() == "Not" || node.op_type() == "Squeeze";
  });
}

class OnnxRoundTripTest : public ::testing::TestWithParam<ConformanceCase> {};

TEST_P(OnnxRoundTripTest, PredictsTheSameOrIsRefusedByName) {
  const proto::ModelSpec spec = SpecOf(GetParam().layers);
  const auto model = *Model::Create(spec);
  const std::vector<NamedTensor> weights = DrawWeights(*model);
  const auto files = WriteOnnxFile(spec, weights);
  if (!files.ok()) {
    EXPECT_THAT(std::string(files.status().message()), HasSubstr("): an ONNX export "));
    GTEST_SKIP() << files.status().message();
  }
  const auto read = ReadOnnxFile((*files)[0], {});
  if (IsOnlyWritten((*files)[0])) {
    EXPECT_THAT(std::string(read.status().message()), StartsWith("node '"));
    GTEST_SKIP() << read.status().message();
  }
  ASSERT_TRUE(read.ok()) << read.status();
  const auto back = Model::Create(read->spec);
  ASSERT_TRUE(back.ok()) << back.status();
  ASSERT_TRUE(CheckWeights((*back)->variables(), read->weights).ok());
  const std::vector<std::vector<float>> inputs = DrawInputs(*model);
  const std::vector<float> expected = Predict(*model, weights, inputs);
  const std::vector<float> actual = Predict(**back, read->weights, inputs);
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], 1e-5 * std::max(1.0f, std::fabs(expected[i])))
        << "element " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(AllLayers, OnnxRoundTripTest, ::testing::ValuesIn(AllConformanceCases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace cairn::nn::testing
