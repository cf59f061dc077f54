#include "job/model_objectives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cairn::job {
namespace {

using testing::HasSubstr;

proto::Job Gan() {
  proto::Job job;
  (*job.mutable_models())["d"] = "d.json";
  (*job.mutable_models())["g"] = "g.json";
  for (const char* trained : {"d", "g"}) {
    proto::ModelObjective* objective = job.add_objectives();
    objective->add_trains(trained);
    objective->mutable_optimizer()->set_name("adam");
    proto::ModelLoss* loss = objective->add_losses();
    loss->set_of("d(g(noise(3)))");
    loss->set_target(1);
    loss->mutable_loss()->set_name("mse");
  }
  *job.mutable_objectives(0)->add_losses() = job.objectives(0).losses(0);
  job.mutable_objectives(0)->mutable_losses(1)->set_of("d(data)");
  return job;
}

std::string ErrorOf(const proto::Job& job) {
  return std::string(CheckModelObjectives(job).message());
}

TEST(ModelObjectivesTest, AcceptsAnAdversarialPair) {
  const proto::Job job = Gan();
  EXPECT_EQ(ErrorOf(job), "");
  EXPECT_TRUE(HasModels(job));
  EXPECT_FALSE(UsesLabels(job));
  EXPECT_TRUE(TakesData(job, "d"));
  EXPECT_FALSE(TakesData(job, "g"));
  EXPECT_EQ(ObjectiveOf(job, "g"), 1);
  EXPECT_EQ(ObjectiveOf(job, "x"), -1);
  EXPECT_EQ(ObjectiveName(job.objectives(1)), "g");
}

TEST(ModelObjectivesTest, ErrorsNameTheField) {
  const auto with = [](auto change) {
    proto::Job job = Gan();
    change(&job);
    return ErrorOf(job);
  };
  EXPECT_THAT(with([](auto* job) { job->set_model("m.json"); }), HasSubstr("model: conflicts"));
  EXPECT_THAT(with([](auto* job) { job->mutable_optimizer(); }), HasSubstr("optimizer: each"));
  EXPECT_THAT(with([](auto* job) { job->clear_objectives(); }),
              HasSubstr("objectives: is missing"));
  EXPECT_THAT(with([](auto* job) { job->clear_models(); }), HasSubstr("models: is missing"));
  EXPECT_THAT(with([](auto* job) { job->mutable_objectives(0)->clear_trains(); }),
              HasSubstr("objectives[0].trains: is missing: the objective trains nothing"));
  EXPECT_THAT(with([](auto* job) { job->mutable_objectives(1)->set_trains(0, "d"); }),
              HasSubstr("'d' is trained twice"));
  EXPECT_THAT(with([](auto* job) { job->mutable_objectives(1)->set_every(0); }),
              HasSubstr("objectives[1].every: 0 is not from 1"));
  EXPECT_THAT(
      with([](auto* job) { job->mutable_objectives(0)->mutable_losses(1)->set_of("x(data)"); }),
      HasSubstr("objectives[0].losses[1].of: there is no model 'x'"));
  EXPECT_THAT(
      with([](auto* job) { job->mutable_objectives(0)->mutable_losses(1)->set_of("data"); }),
      HasSubstr("calls no model"));
  EXPECT_THAT(
      with([](auto* job) { job->mutable_objectives(0)->mutable_losses(1)->set_of("d(noise(2))"); }),
      HasSubstr("no loss uses data"));
  EXPECT_THAT(
      with([](auto* job) { job->mutable_objectives(0)->mutable_losses(0)->clear_target(); }),
      HasSubstr("losses[0].target: is missing"));
  EXPECT_THAT(with([](auto* job) {
                job->mutable_objectives(0)->mutable_losses(0)->mutable_loss()->set_name("what");
              }),
              HasSubstr("objectives[0].losses[0].loss: "));
  EXPECT_THAT(
      with([](auto* job) { job->mutable_objectives(0)->mutable_optimizer()->set_clipnorm(1); }),
      HasSubstr("optimizer.clipnorm"));
  EXPECT_THAT(with([](auto* job) { (*job->mutable_models())["c"] = "c.json"; }),
              HasSubstr("models.c: no loss calls"));
  EXPECT_THAT(with([](auto* job) { job->mutable_validation(); }), HasSubstr("does not validate"));
  EXPECT_THAT(with([](auto* job) { job->set_validation_steps(2); }),
              HasSubstr("validation_steps: a job of several models does not validate"));
  EXPECT_THAT(with([](auto* job) { job->add_validation_freq_epochs(2); }),
              HasSubstr("validation_freq: a job of several models does not validate"));
}

}  // namespace
}  // namespace cairn::job
