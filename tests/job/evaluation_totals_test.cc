#include "job/evaluation_totals.h"

#include <google/protobuf/util/json_util.h>

#include <vector>

#include "gtest/gtest.h"
#include "job/job_objective.h"
#include "nn/model.h"

namespace cairn::job {
namespace {

// One output, and the metric mean_squared_error, whose state is a sum and a number of examples.
nn::Objective TestObjective() {
  proto::ModelSpec spec;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(R"({
    "inputs": ["in"], "outputs": ["out"],
    "layers": [
      {"name": "in", "class_name": "InputLayer", "config": {"batch_shape": [null, 3]}},
      {"name": "out", "class_name": "Dense", "inputs": ["in"], "config": {"units": 1}}]})",
                                                          &spec)
                  .ok());
  proto::Job job;
  job.mutable_loss()->set_name("mean_absolute_error");
  job.add_metrics("mean_squared_error");
  return *CreateObjective(job, **nn::Model::Create(spec));
}

proto::EvaluatedBatch Batch(int64_t examples, double loss, const std::vector<double>& state) {
  proto::EvaluatedBatch batch;
  batch.set_examples(examples);
  batch.set_loss_sum(loss);
  batch.add_metric_states()->mutable_values()->Assign(state.begin(), state.end());
  return batch;
}

TEST(EvaluationTotalsTest, MeansAreOverExamples) {
  const nn::Objective objective = TestObjective();
  EvaluationTotals totals(objective);
  EXPECT_EQ(totals.Means().loss(), 0);
  EXPECT_TRUE(totals.Add(Batch(3, 6, {12, 3})));
  EXPECT_TRUE(totals.Add(Batch(1, 2, {4, 1})));
  EXPECT_EQ(totals.Means().examples(), 4);
  EXPECT_EQ(totals.Means().loss(), 2);
  EXPECT_EQ(totals.Means().metrics(0), 4);
}

TEST(EvaluationTotalsTest, BatchesWithoutTheMetricsAreRefused) {
  const nn::Objective objective = TestObjective();
  EvaluationTotals totals(objective);
  EXPECT_FALSE(totals.Add(Batch(-1, 6, {12, 3})));
  EXPECT_FALSE(totals.Add(Batch(3, 6, {12})));
  EXPECT_FALSE(totals.Add(Batch(3, 6, {12, 3, 1})));
  EXPECT_FALSE(totals.Add(proto::EvaluatedBatch()));
  proto::EvaluatedBatch two = Batch(3, 6, {12, 3});
  two.add_metric_states();
  EXPECT_FALSE(totals.Add(two));
  EXPECT_EQ(totals.Means().examples(), 0);
}

}  // namespace
}  // namespace cairn::job
