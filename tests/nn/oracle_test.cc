// Compares whole training runs in one process with runs of TensorFlow.js: executor, optimizers and
// moving averages together, without a cluster.

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "common/npy.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "nn/create_device.h"
#include "nn/executor.h"
#include "nn/formats/model_file.h"
#include "nn/moving_average.h"
#include "nn/optimizer.h"
#include "proto/job.pb.h"

namespace cairn::nn {
namespace {

using nlohmann::json;

constexpr double kTolerance = 1e-4;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  std::stringstream contents;
  contents << file.rdbuf();
  return contents.str();
}

// An array for the executor: float or int32, both of four bytes.
struct Array {
  std::vector<float> floats;
  std::vector<int32_t> ints;
  int64_t row_elements = 1;

  const void* row(int64_t index) const {
    if (!ints.empty()) return ints.data() + index * row_elements;
    return floats.data() + index * row_elements;
  }
};

Array ReadArray(const std::string& path, bool as_ints) {
  const std::string bytes = ReadFile(path);
  const absl::StatusOr<NpyHeader> header = ParseNpyHeader(bytes, bytes.size());
  EXPECT_TRUE(header.ok()) << header.status();
  const std::string_view elements = std::string_view(bytes).substr(header->data_offset);
  Array array{.row_elements = header->element_count() / header->shape[0]};
  if (as_ints) {
    array.ints.resize(header->element_count());
    EXPECT_TRUE(DecodeNpyAsInt32(*header, elements, absl::MakeSpan(array.ints)).ok());
  } else {
    array.floats.resize(header->element_count());
    EXPECT_TRUE(DecodeNpyAsFloat(*header, elements, absl::MakeSpan(array.floats)).ok());
  }
  return array;
}

template <typename T>
T ValueOrDie(absl::StatusOr<T> value) {
  if (!value.ok()) ADD_FAILURE() << value.status();
  return *std::move(value);
}

ImportedModel ReadModelFolder(const std::string& folder) {
  const std::string text = ReadFile(folder + "/model.json");
  std::vector<std::string> weights;
  for (const std::string& file : ValueOrDie(ModelWeightFiles(text, "model"))) {
    weights.push_back(ReadFile(folder + "/" + file));
  }
  return ValueOrDie(ReadModel(text, weights));
}

proto::Optimizer ReadOptimizer(const json& config) {
  proto::Optimizer optimizer;
  optimizer.set_name(config.at("name"));
  if (config.contains("learning_rate")) optimizer.set_learning_rate(config["learning_rate"]);
  if (config.contains("momentum")) optimizer.set_momentum(config["momentum"]);
  if (config.contains("nesterov")) optimizer.set_nesterov(config["nesterov"]);
  if (config.contains("beta_1")) optimizer.set_beta_1(config["beta_1"]);
  if (config.contains("beta_2")) optimizer.set_beta_2(config["beta_2"]);
  if (config.contains("epsilon")) optimizer.set_epsilon(config["epsilon"]);
  if (config.contains("initial_accumulator_value")) {
    optimizer.set_initial_accumulator_value(config["initial_accumulator_value"]);
  }
  return optimizer;
}

// A model trained on this thread, with the work of a worker and a parameter server.
class LocalRun {
 public:
  LocalRun(const std::string& folder, const json& config)
      : config_(config), imported_(ReadModelFolder(folder + "/model")) {
    model_ = ValueOrDie(Model::Create(imported_.spec));
    proto::Loss loss;
    loss.set_name(config.at("loss"));
    objective_ = Objective(ValueOrDie(CreateLoss(loss)));
    optimizer_ = ValueOrDie(CreateOptimizer(ReadOptimizer(config.at("optimizer"))));
    device_ = ValueOrDie(CreateDevice("cpu"));
    executor_ = ValueOrDie(
        Executor::Create(model_.get(), &objective_, {.batch_size = batch_size()}, device_.get()));
    for (size_t i = 0; i < model_->inputs().size(); ++i) {
      const bool is_ids = model_->inputs()[i].spec.type == proto::INT32;
      const std::string file = config.at("inputs").at(i);
      inputs_.push_back(ReadArray(folder + "/" + file, is_ids));
    }
    labels_ = ReadArray(folder + "/" + config.at("labels").get<std::string>(),
                        objective_.losses()[0].loss->label_type() == proto::INT32);
    LoadWeights();
  }

  int64_t batch_size() const { return config_.at("batch_size"); }

  // Returns the loss before the update.
  double Step(int64_t step) {
    const Executor::BatchResults sums =
        ValueOrDie(executor_->Forward(BatchAt(step), /*training=*/true));
    EXPECT_TRUE(executor_->Backward([&](int variable) { Update(variable, step); }).ok());
    return sums.loss_sum / static_cast<double>(sums.examples) + sums.penalty;
  }

  absl::Span<const float> PredictFirstBatch() {
    ValueOrDie(executor_->Forward(BatchAt(0), /*training=*/false));
    return *executor_->output();
  }

  const Model& model() const { return *model_; }
  Executor& executor() { return *executor_; }

 private:
  void LoadWeights() {
    ASSERT_EQ(imported_.weights.size(), model_->variables().size());
    for (size_t v = 0; v < model_->variables().size(); ++v) {
      const VariableSpec& variable = model_->variables()[v];
      for (const NamedTensor& tensor : imported_.weights) {
        if (tensor.name != variable.name) continue;
        ASSERT_EQ(tensor.shape, variable.shape) << tensor.name;
        std::copy(tensor.values.begin(), tensor.values.end(), executor_->values(v).begin());
      }
      slots_.emplace_back(optimizer_->slot_count());
      for (int slot = 0; slot < optimizer_->slot_count(); ++slot) {
        slots_[v][slot].assign(variable.element_count(), optimizer_->initial_slot_value(slot));
      }
    }
  }

  Executor::Batch BatchAt(int64_t step) const {
    Executor::Batch batch{.size = batch_size()};
    for (const Array& input : inputs_) batch.inputs.push_back(input.row(step * batch_size()));
    batch.labels = {labels_.row(step * batch_size())};
    return batch;
  }

  void Update(int variable, int64_t step) {
    const VariableSpec& spec = model_->variables()[variable];
    float* values = executor_->values(variable).data();
    const float* gradient = executor_->gradient(variable).data();
    if (spec.update == VariableSpec::Update::kMovingAverage) {
      ApplyMovingAverage(spec.element_count(), gradient, spec.momentum, values, values);
      return;
    }
    OptimizerRule::Chunk chunk = {.count = spec.element_count(),
                                  .gradient = gradient,
                                  .values_in = values,
                                  .values_out = values};
    for (size_t slot = 0; slot < slots_[variable].size(); ++slot) {
      chunk.slots_in[slot] = chunk.slots_out[slot] = slots_[variable][slot].data();
    }
    optimizer_->Apply(chunk, step, optimizer_->learning_rate(step));
  }

  const json config_;
  const ImportedModel imported_;
  std::unique_ptr<Model> model_;
  Objective objective_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Executor> executor_;
  std::vector<Array> inputs_;
  Array labels_;
  std::vector<std::vector<std::vector<float>>> slots_;  // By variable and slot.
};

void ExpectClose(absl::Span<const float> actual, const json& expected, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.at("values").size()) << what;
  for (size_t i = 0; i < actual.size(); ++i) {
    const double wanted = expected.at("values")[i];
    EXPECT_NEAR(actual[i], wanted, kTolerance * std::max(1.0, std::fabs(wanted)))
        << what << " at " << i;
  }
}

class OracleTest : public ::testing::TestWithParam<const char*> {};

TEST_P(OracleTest, TrainingGivesTheLossesWeightsAndPredictionOfTensorFlow) {
  const char* oracle = std::getenv("CAIRN_ORACLE");
  if (oracle == nullptr) GTEST_SKIP() << "CAIRN_ORACLE does not name the reference runs";
  const std::string folder = std::string(oracle) + "/" + GetParam();
  const json config = json::parse(ReadFile(folder + "/case.json"));
  const json expected = json::parse(ReadFile(folder + "/expected.json"));
  LocalRun run(folder, config);

  const json& losses = expected.at("loss_before_each_update");
  for (size_t step = 0; step < losses.size(); ++step) {
    const double wanted = losses[step];
    EXPECT_NEAR(run.Step(static_cast<int64_t>(step)), wanted, kTolerance * std::max(1.0, wanted))
        << "step " << step;
  }
  const json& weights = expected.at("weights_after_last_update");
  ASSERT_EQ(weights.size(), run.model().variables().size());
  for (size_t v = 0; v < run.model().variables().size(); ++v) {
    const std::string& name = run.model().variables()[v].name;
    ExpectClose(run.executor().values(v), weights.at(name), name);
  }
  ExpectClose(run.PredictFirstBatch(), expected.at("prediction_on_first_batch_after_training"),
              "prediction");
}

INSTANTIATE_TEST_SUITE_P(Runs, OracleTest,
                         ::testing::Values("cifar_cnn", "conv_strides_bn", "frozen_base",
                                           "mlp_adam", "mlp_momentum", "mlp_sgd", "regression_mse",
                                           "wide_deep"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace cairn::nn
