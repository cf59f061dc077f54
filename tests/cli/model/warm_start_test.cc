#include "cli/model/warm_start.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/initializer.h"
#include "nn/model.h"
#include "tests/cli/example_job.h"
#include "tests/cli/model/fake_source.h"

namespace cairn::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The example job, with values for its checkpoint 2.
FakeSource Example() {
  FakeSource source;
  source.plan = ExamplePlan();
  source.status = ExampleStatus();
  *source.checkpoints.add_manifests() = ExampleManifest();
  source.values[2] = ExampleValues();
  return source;
}

proto::Job Resuming() {
  proto::Job job;
  job.set_seed(7);
  job.mutable_resume_from()->set_name("example");
  return job;
}

// The example's model with another name or number of units of its last layer.
SubmittedModel Model(const std::string& layer, int64_t units) {
  SubmittedModel model;
  model.spec = ExamplePlan().model();
  proto::LayerSpec* last = model.spec.mutable_layers(model.spec.layers_size() - 1);
  last->set_name(layer);
  (*last->mutable_config()->mutable_fields())["units"].set_number_value(units);
  *model.spec.mutable_outputs(0) = layer;
  return model;
}

std::string NameOfLast() { return ExamplePlan().model().layers().rbegin()->name(); }

TEST(WarmStartTest, TheSameModelTakesEverything) {
  FakeSource source = Example();
  const auto warm = ReadWarmStart(&source, Resuming(), Model(NameOfLast(), 3));
  ASSERT_TRUE(warm.ok()) << warm.status();
  EXPECT_EQ(warm->variables, ExampleValues());
  EXPECT_EQ(warm->taken, 2);
  EXPECT_THAT(warm->fresh, ElementsAre());
  EXPECT_THAT(WarmStartNotes(*warm),
              ElementsAre(HasSubstr("takes 2 variables from checkpoint 2 of job ")));
}

TEST(WarmStartTest, WhatTheModelsFileBringsIsUsedOnlyWhereTheOtherJobHasNothing) {
  FakeSource source = Example();
  source.plan.mutable_partition()->mutable_variables(0)->set_name("elsewhere");
  SubmittedModel model = Model(NameOfLast(), 3);
  model.weights = {std::vector<float>(12, 5.0f), std::vector<float>(3, 6.0f)};
  const auto warm = ReadWarmStart(&source, Resuming(), model);
  ASSERT_TRUE(warm.ok()) << warm.status();
  EXPECT_EQ(warm->variables[0], model.weights[0]);
  EXPECT_EQ(warm->variables[1], ExampleValues()[1]);
}

TEST(WarmStartTest, AVariableOfAnotherShapeStartsFromItsInitializerAndIsListed) {
  FakeSource source = Example();
  // The kernel has another shape in the other job. The bias has the same shape.
  source.plan.mutable_partition()->mutable_variables(0)->set_shape(0, 9);
  const SubmittedModel submitted = Model(NameOfLast(), 3);
  const auto warm = ReadWarmStart(&source, Resuming(), submitted);
  ASSERT_TRUE(warm.ok()) << warm.status();
  const auto model = nn::Model::Create(submitted.spec);
  std::vector<float> initial(12);
  nn::FillInitialValues((*model)->variables()[0], 7, 0, 12, initial.data());
  EXPECT_EQ(warm->variables[0], initial);
  EXPECT_EQ(warm->variables[1], ExampleValues()[1]);
  EXPECT_THAT(warm->fresh, ElementsAre(HasSubstr("kernel (4, 3), there (9, 3)")));
}

TEST(WarmStartTest, AModelWithNothingInCommonIsRefused) {
  FakeSource source = Example();
  const auto warm = ReadWarmStart(&source, Resuming(), Model("head", 3));
  EXPECT_THAT(std::string(warm.status().message()),
              HasSubstr("has none of this model's variables: head/kernel; head/bias"));
}

TEST(WarmStartTest, AnErrorBeginsWithTheField) {
  FakeSource source = Example();
  proto::Job job = Resuming();
  job.mutable_resume_from()->set_checkpoint(9);
  EXPECT_THAT(std::string(ReadWarmStart(&source, job, Model(NameOfLast(), 3)).status().message()),
              HasSubstr("resume_from: job example has no checkpoint 9; there are 2"));
}

// The example job was trained with SGD with momentum.
class WithOptimizerTest : public ::testing::Test {
 protected:
  WithOptimizerTest() {
    source_.plan.mutable_job()->mutable_optimizer()->set_name("SGD");
    for (const std::vector<float>& values : ExampleValues()) {
      cluster::VariableState& state = source_.states.emplace_back();
      state.values = values;
      state.version = 6;
      state.slots = {"momentum"};
      state.slot_values = {std::vector<float>(values.size(), 7)};
    }
    job_.mutable_resume_from()->set_with_optimizer(true);
    job_.mutable_optimizer()->set_name("sgd");
    job_.mutable_optimizer()->set_momentum(0.5);
  }
  std::string Error(const SubmittedModel& model) {
    return std::string(ReadWarmStart(&source_, job_, model).status().message());
  }

  FakeSource source_ = Example();
  proto::Job job_ = Resuming();
};

TEST_F(WithOptimizerTest, TheStateComesWithTheValues) {
  const auto warm = ReadWarmStart(&source_, job_, Model(NameOfLast(), 3));
  ASSERT_TRUE(warm.ok()) << warm.status();
  ASSERT_EQ(warm->states.size(), 2u);
  EXPECT_EQ(warm->states[0].values, ExampleValues()[0]);
  EXPECT_EQ(warm->states[0].version, 6);
  EXPECT_EQ(warm->states[0].slot_values[0], std::vector<float>(12, 7));
  EXPECT_THAT(WarmStartNotes(*warm),
              ElementsAre(HasSubstr("takes 2 variables and the optimizer's state from")));
}

TEST_F(WithOptimizerTest, AStateThatIsNotCompleteIsRefused) {
  source_.states[0].slot_values[0].pop_back();
  EXPECT_THAT(Error(Model(NameOfLast(), 3)), HasSubstr("does not have all values of dense/kernel"));
  source_.states[0] = {};
  EXPECT_THAT(Error(Model(NameOfLast(), 3)), HasSubstr("does not have all values of dense/kernel"));
}

TEST_F(WithOptimizerTest, AnotherOptimizerIsRefused) {
  job_.mutable_optimizer()->Clear();
  job_.mutable_optimizer()->set_name("adam");
  EXPECT_EQ(Error(Model(NameOfLast(), 3)),
            "resume_from.with_optimizer: job 1 (example) was trained with sgd, this job has adam; "
            "use the same optimizer, or leave with_optimizer out");
}

TEST_F(WithOptimizerTest, OtherSlotsAreRefused) {
  job_.mutable_optimizer()->clear_momentum();
  EXPECT_THAT(Error(Model(NameOfLast(), 3)),
              HasSubstr("in job 1 (example) sgd keeps (momentum) of dense/kernel, here it would "
                        "keep ()"));
}

TEST_F(WithOptimizerTest, EveryVariableMustBeThere) {
  EXPECT_THAT(Error(Model("head", 3)), HasSubstr("does not have the variable head/kernel (4, 3)"));
  EXPECT_THAT(Error(Model(NameOfLast(), 5)),
              HasSubstr("does not have the variable dense/kernel (4, 5)"));
}

}  // namespace
}  // namespace cairn::cli
