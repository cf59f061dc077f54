#include "job/model_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "job/model_objectives.h"
#include "nn/model_union.h"

namespace cairn::job {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

proto::LayerSpec* AddLayer(const std::string& name, const std::string& type,
                           const std::string& input, proto::ModelSpec* spec) {
  proto::LayerSpec* layer = spec->add_layers();
  layer->set_name(name);
  layer->set_class_name(type);
  layer->add_inputs(input);
  return layer;
}

// Dense(units), and BatchNormalization if `normalizes`.
proto::ModelSpec Network(int inputs, int units, bool normalizes) {
  proto::ModelSpec spec;
  proto::LayerSpec* input = spec.add_layers();
  input->set_name("in");
  input->set_class_name("InputLayer");
  auto* shape = (*input->mutable_config()->mutable_fields())["batch_shape"].mutable_list_value();
  shape->add_values()->set_null_value(google::protobuf::NULL_VALUE);
  shape->add_values()->set_number_value(inputs);
  auto* dense = AddLayer("dense", "Dense", "in", &spec);
  (*dense->mutable_config()->mutable_fields())["units"].set_number_value(units);
  spec.add_inputs("in");
  spec.add_outputs("dense");
  if (!normalizes) return spec;
  auto* norm = AddLayer("norm", "BatchNormalization", "dense", &spec);
  (*norm->mutable_config()->mutable_fields())["momentum"].set_number_value(0.5);
  spec.set_outputs(0, "norm");
  return spec;
}

class ModelProgramTest : public testing::Test {
 protected:
  ModelProgramTest() {
    (*job_.mutable_models())["d"] = "/d.json";
    (*job_.mutable_models())["g"] = "/g.json";
    AddObjective("d", {"d(data)", "d(g(noise(3)))"});
    AddObjective("g", {"d(g(noise(3)))"});
  }

  void AddObjective(const std::string& trains, const std::vector<std::string>& losses) {
    proto::ModelObjective* objective = job_.add_objectives();
    objective->add_trains(trains);
    objective->mutable_optimizer()->set_name(trains == "d" ? "adam" : "sgd");
    for (const std::string& of : losses) {
      proto::ModelLoss* loss = objective->add_losses();
      loss->set_of(of);
      loss->set_target(1);
      loss->mutable_loss()->set_name("mse");
    }
  }

  absl::StatusOr<ModelProgram> Create(int discriminated = 4) {
    spec_ = nn::UnionOf({{"d", Network(discriminated, 1, true), ObjectiveOf(job_, "d") < 0},
                         {"g", Network(3, 4, false), ObjectiveOf(job_, "g") < 0}});
    auto model = nn::Model::Create(spec_);
    if (!model.ok()) return model.status();
    model_ = *std::move(model);
    return ModelProgram::Create(job_, spec_, *model_);
  }

  std::string Error() { return std::string(Create().status().message()); }

  proto::Job job_;
  proto::ModelSpec spec_;
  std::unique_ptr<nn::Model> model_;
};

TEST_F(ModelProgramTest, PassesShareTheVariablesOfTheUnion) {
  const auto program = Create();
  ASSERT_TRUE(program.ok()) << program.status();
  ASSERT_EQ(program->objectives.size(), 2);
  // d: kernel, bias, gamma, beta, mean, variance; g: kernel, bias.
  EXPECT_THAT(program->objective_of, ElementsAre(0, 0, 0, 0, 0, 0, 1, 1));
  const ModelProgram::Pass& of_generator = program->objectives[1].passes[0];
  EXPECT_THAT(of_generator.variables, ElementsAre(6, 7, 0, 1, 2, 3, 4, 5));
  EXPECT_THAT(of_generator.trained,
              ElementsAre(true, true, false, false, false, false, false, false));
  EXPECT_EQ(of_generator.inputs[0].noise_size, 3);
  EXPECT_EQ(program->data_model->inputs()[0].spec.shape, nn::Shape({4}));
}

// Two updates s = 0.5 s + 0.5 x are one with momentum 0.25 of x1 / 3 + 2 x2 / 3.
TEST_F(ModelProgramTest, MovingStatisticsTakeTheCallsInTheirOrder) {
  const auto program = Create();
  ASSERT_TRUE(program.ok()) << program.status();
  const auto& passes = program->objectives[0].passes;
  EXPECT_NEAR(passes[0].statistic_weights[4], 1.0 / 3, 1e-12);
  EXPECT_NEAR(passes[1].statistic_weights[6], 2.0 / 3, 1e-12);
  const auto rules = VariableRules::Create(job_, spec_, model_->variables());
  ASSERT_TRUE(rules.ok()) << rules.status();
  EXPECT_DOUBLE_EQ(rules->momentums[4], 0.25);
  EXPECT_THAT(rules->optimizer_of, ElementsAre(0, 0, 0, 0, 0, 0, 1, 1));
}

TEST(VariableRulesTest, VariablesThatAreExcludedFromDecayHaveAnOptimizerWithoutIt) {
  proto::Job job;
  job.mutable_optimizer()->set_name("adamw");
  std::vector<nn::VariableSpec> variables(4);
  for (int i = 0; i < 4; ++i) {
    variables[i].name = std::vector<const char*>{"a/kernel", "a/bias", "b/kernel", "b/bias"}[i];
  }
  job.mutable_optimizer()->add_exclude_from_weight_decay("bias");
  job.mutable_optimizer()->add_exclude_from_weight_decay("^b/");
  const auto rules = VariableRules::Create(job, proto::ModelSpec(), variables);
  ASSERT_TRUE(rules.ok()) << rules.status();
  EXPECT_THAT(rules->optimizer_of, ElementsAre(0, 1, 1, 1));
  for (const int optimizer : {0, 1}) {
    float value = 1, slots[] = {0, 0};
    const float gradient = 0;
    nn::OptimizerRule::Chunk chunk = {
        .count = 1, .gradient = &gradient, .values_in = &value, .values_out = &value};
    for (int slot = 0; slot < 2; ++slot) {
      chunk.slots_in[slot] = chunk.slots_out[slot] = &slots[slot];
    }
    rules->optimizers[optimizer]->Apply(chunk, 0, 0.5f);
    EXPECT_FLOAT_EQ(value, optimizer == 0 ? 1 - 0.5f * 0.004f : 1);
  }
  job.mutable_optimizer()->add_exclude_from_weight_decay("gamma");
  EXPECT_EQ(VariableRules::Create(job, proto::ModelSpec(), variables).status().message(),
            "optimizer.exclude_from_weight_decay: 'gamma' is in the name of no variable, such as "
            "a/kernel");
  job.mutable_optimizer()->set_exclude_from_weight_decay(2, "(");
  EXPECT_EQ(VariableRules::Create(job, proto::ModelSpec(), variables).status().message(),
            "optimizer.exclude_from_weight_decay: '(' is no regular expression: missing ): (");
}

// A client that cannot say which rule excludes variables lists all of their names.
TEST(VariableRulesTest, ThousandsOfVariablesAreExcludedByName) {
  constexpr int kVariables = 8000;
  proto::Job job;
  job.mutable_optimizer()->set_name("adamw");
  std::vector<nn::VariableSpec> variables(kVariables);
  std::vector<int> expected(kVariables, 1);
  for (int i = 0; i < kVariables; ++i) {
    variables[i].name = absl::StrCat("block_", i / 4, "/dense_", i, "/kernel");
    if (i % 8 == 0) {
      expected[i] = 0;
    } else {
      job.mutable_optimizer()->add_exclude_from_weight_decay(
          absl::StrCat("^", variables[i].name, "$"));
    }
  }
  const auto rules = VariableRules::Create(job, proto::ModelSpec(), variables);
  ASSERT_TRUE(rules.ok()) << rules.status();
  EXPECT_EQ(rules->optimizer_of, expected);
}

TEST(VariableRulesTest, PatternsThatCostTooMuchAreRefused) {
  std::vector<nn::VariableSpec> variables(1);
  variables[0].name = "a";
  const auto error = [&](int count, const std::string& pattern) {
    proto::Job job;
    job.mutable_optimizer()->set_name("adamw");
    for (int i = 0; i < count; ++i) {
      job.mutable_optimizer()->add_exclude_from_weight_decay(pattern);
    }
    return std::string(
        VariableRules::Create(job, proto::ModelSpec(), variables).status().message());
  };
  const std::string field = "optimizer.exclude_from_weight_decay: ";
  EXPECT_EQ(error(10000, "a"), "");
  EXPECT_EQ(error(10001, "a"),
            field +
                "10001 patterns, the most are 10000; use patterns that are in the names of several "
                "variables");
  EXPECT_EQ(error(100, "a*"), "");
  EXPECT_EQ(error(101, "a*"), field +
                                  "more than 100 patterns contain *, + or {, the last is 'a*'; use "
                                  "patterns without them");
  EXPECT_EQ(error(1, std::string(1001, 'a')),
            field + "'aaaaaaaaaaaaaaaaaaaa...' has 1001 bytes, the most are 1000");
}

TEST_F(ModelProgramTest, AnObjectiveRunsInEachNthUpdate) {
  job_.mutable_objectives(1)->set_every(2);
  const auto program = Create();
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_FALSE(program->objectives[1].RunsIn(0));
  EXPECT_TRUE(program->objectives[1].RunsIn(1));
  EXPECT_TRUE(program->objectives[0].RunsIn(0));
}

TEST_F(ModelProgramTest, ErrorsNameTheFieldAndTheShapes) {
  EXPECT_THAT(std::string(Create(/*discriminated=*/5).status().message()),
              HasSubstr("objectives[0].losses[1].of: g(noise(3)) has the shape (4,)"));
  job_.mutable_objectives(1)->mutable_losses(0)->set_of("d(g(noise(2)))");
  EXPECT_THAT(Error(), HasSubstr("objectives[1].losses[0].of: noise(2) has the shape (2,)"));
  job_.mutable_objectives(1)->mutable_losses(0)->set_of("d(g(noise(3)),data)");
  EXPECT_THAT(Error(), HasSubstr("has 2 arguments, the model has 1 inputs"));
  job_.mutable_objectives(1)->mutable_losses(0)->set_of("d(data)");
  EXPECT_THAT(Error(), HasSubstr("calls none of the models that the objective trains (g)"));
}

TEST_F(ModelProgramTest, LabelsNeedDataAlone) {
  proto::ModelLoss* loss = job_.mutable_objectives(0)->mutable_losses(0);
  loss->clear_target();
  loss->set_target_array("labels");
  const auto program = Create();
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(program->data_objective.losses().size(), 1);
  loss->set_of("d(g(noise(3)))");
  EXPECT_THAT(Error(), HasSubstr("losses[0].target: \"labels\" belong to the data"));
}

}  // namespace
}  // namespace cairn::job
