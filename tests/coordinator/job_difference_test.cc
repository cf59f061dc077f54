#include "coordinator/job_difference.h"

#include <gtest/gtest.h>

#include <string>

namespace cairn::coordinator {
namespace {

TEST(JobDifferenceTest, EqualJobsDoNotDiffer) {
  proto::Job job;
  job.set_name("a");
  EXPECT_EQ(JobDifference(job, {}, job, {}), "");
}

TEST(JobDifferenceTest, EachFieldThatDiffersIsNamedWithBothValues) {
  proto::Job before, after;
  before.mutable_optimizer()->set_learning_rate(0.5);
  after.mutable_optimizer()->set_learning_rate(0.25);
  after.set_epochs(3);
  const std::string text = JobDifference(before, {}, after, {});
  EXPECT_NE(text.find("optimizer.learning_rate: 0.5 -> 0.25"), std::string::npos) << text;
  EXPECT_NE(text.find("epochs"), std::string::npos) << text;
}

TEST(JobDifferenceTest, AnotherModelIsADifferenceToo) {
  proto::ModelSpec before, after;
  before.add_layers()->set_name("a");
  after.add_layers()->set_name("b");
  const std::string text = JobDifference({}, before, {}, after);
  EXPECT_EQ(text.find("the model's layers[0].name"), 0u) << text;
}

TEST(JobDifferenceTest, ManyDifferencesAreCounted) {
  proto::ModelSpec before, after;
  for (int i = 0; i < 40; ++i) {
    before.add_layers()->set_name("a");
    after.add_layers()->set_name("b");
  }
  EXPECT_NE(JobDifference({}, before, {}, after).find("and 28 more"), std::string::npos);
}

}  // namespace
}  // namespace cairn::coordinator
