#include "worker/objective_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "common/random.h"
#include "nn/create_device.h"
#include "nn/model_union.h"

namespace cairn::worker {
namespace {

TEST(ObjectiveStepsTest, NoiseIsStandardNormalAndPure) {
  std::vector<float> noise(100000);
  FillNoise(7, 0, &noise);
  double sum = 0;
  double squares = 0;
  for (const float x : noise) {
    sum += x;
    squares += static_cast<double>(x) * x;
  }
  EXPECT_NEAR(sum / 100000, 0, 0.02);
  EXPECT_NEAR(squares / 100000, 1, 0.03);
  std::vector<float> fewer(10);
  FillNoise(7, 0, &fewer);
  EXPECT_TRUE(std::equal(fewer.begin(), fewer.end(), noise.begin()));
  std::vector<float> other(10);
  FillNoise(7, 1, &other);
  EXPECT_NE(other, fewer);
}

// A model y = w x of one number.
proto::ModelSpec Scale() {
  proto::ModelSpec spec;
  proto::LayerSpec* input = spec.add_layers();
  input->set_name("in");
  input->set_class_name("InputLayer");
  auto* shape = (*input->mutable_config()->mutable_fields())["batch_shape"].mutable_list_value();
  shape->add_values()->set_null_value(google::protobuf::NULL_VALUE);
  shape->add_values()->set_number_value(1);
  proto::LayerSpec* dense = spec.add_layers();
  dense->set_name("dense");
  dense->set_class_name("Dense");
  dense->add_inputs("in");
  (*dense->mutable_config()->mutable_fields())["units"].set_number_value(1);
  (*dense->mutable_config()->mutable_fields())["use_bias"].set_bool_value(false);
  spec.add_inputs("in");
  spec.add_outputs("dense");
  return spec;
}

void AddLoss(const std::string& of, double target, proto::ModelObjective* objective) {
  proto::ModelLoss* loss = objective->add_losses();
  loss->set_of(of);
  loss->set_target(target);
  loss->mutable_loss()->set_name("mse");
}

// With d(x) = d x and g(z) = g z the losses and gradients are closed forms.
TEST(ObjectiveStepsTest, GradientsAreThoseOfTheClosedForm) {
  proto::Job job;
  (*job.mutable_models())["d"] = "/d";
  (*job.mutable_models())["g"] = "/g";
  proto::ModelObjective* of_d = job.add_objectives();
  of_d->add_trains("d");
  of_d->mutable_optimizer()->set_name("sgd");
  AddLoss("d(data)", 1, of_d);
  AddLoss("d(g(noise(1)))", 0, of_d);
  of_d->mutable_losses(1)->set_weight(0.5);
  proto::ModelObjective* of_g = job.add_objectives();
  of_g->add_trains("g");
  of_g->mutable_optimizer()->set_name("sgd");
  of_g->set_every(2);
  AddLoss("d(g(noise(1)))", 1, of_g);
  const proto::ModelSpec spec = nn::UnionOf({{"d", Scale()}, {"g", Scale()}});
  const auto model = nn::Model::Create(spec);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto program = job::ModelProgram::Create(job, spec, **model);
  ASSERT_TRUE(program.ok()) << program.status();
  const auto device = nn::CreateDevice("cpu");
  ASSERT_TRUE(device.ok());
  nn::Executor::Options options;
  options.batch_size = 3;
  options.variables_only = true;
  const auto variables = nn::Executor::Create(model->get(), nullptr, options, device->get());
  ASSERT_TRUE(variables.ok()) << variables.status();
  const auto steps =
      ObjectiveSteps::Create(&*program, variables->get(), {.batch_size = 3}, device->get());
  ASSERT_TRUE(steps.ok()) << steps.status();
  const double d = 0.75;
  const double g = -1.5;
  (*variables)->values(0)[0] = static_cast<float>(d);
  (*variables)->values(1)[0] = static_cast<float>(g);
  const std::vector<float> data = {1, 2, -3};
  nn::Executor::Batch batch;
  batch.size = 3;
  batch.inputs = {data.data()};
  batch.random_key = 11;
  std::vector<float> noise(3);
  FillNoise(11, 0, &noise);
  double loss_d = 0;
  double loss_g = 0;
  double gradient_d = 0;
  double gradient_g = 0;
  for (int i = 0; i < 3; ++i) {
    const double x = data[i];
    const double z = noise[i];
    loss_d += ((d * x - 1) * (d * x - 1) + 0.5 * (d * g * z) * (d * g * z)) / 3;
    gradient_d += (2 * (d * x - 1) * x + 0.5 * 2 * (d * g * z) * (g * z)) / 3;
    loss_g += (d * g * z - 1) * (d * g * z - 1) / 3;
    gradient_g += 2 * (d * g * z - 1) * d * z / 3;
  }
  const auto first = (*steps)->Compute(batch, /*update=*/0);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(first->variables, testing::ElementsAre(0));
  EXPECT_NEAR(first->losses.loss_sum / 3, loss_d, 1e-5);
  EXPECT_EQ(first->losses.metrics[1][1], 0);
  EXPECT_NEAR((*variables)->gradient(0)[0], gradient_d, 1e-5);
  const auto second = (*steps)->Compute(batch, /*update=*/1);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_THAT(second->variables, testing::ElementsAre(0, 1));
  EXPECT_NEAR(second->losses.loss_sum / 3, loss_d + loss_g, 1e-5);
  EXPECT_NEAR((*variables)->gradient(0)[0], gradient_d, 1e-5);
  EXPECT_NEAR((*variables)->gradient(1)[0], gradient_g, 1e-5);
}

}  // namespace
}  // namespace cairn::worker
