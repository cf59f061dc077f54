#include "coordinator/training/evaluation_round.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "tests/coordinator/training/metric_plan.h"

namespace cairn::coordinator {
namespace {

constexpr absl::Duration kStart = absl::Seconds(50);

proto::EvaluatedBatch Evaluated(int64_t batch, double loss_sum, int64_t examples = 10) {
  proto::EvaluatedBatch done;
  done.set_cut(9);
  done.set_batch(batch);
  done.set_examples(examples);
  done.set_loss_sum(loss_sum);
  proto::MetricState* state = done.add_metric_states();
  state->add_values(5);
  state->add_values(static_cast<double>(examples));
  return done;
}

// On cut 9, with the metric accuracy.
EvaluationRound MakeRound(int64_t epoch, int64_t batches) {
  proto::JobPlan plan = MetricPlan({"accuracy"});
  plan.set_batch_size(10);
  plan.set_validation_examples(batches * 10 - 1);  // The last batch is shorter.
  proto::KeptCut cut;
  cut.set_cut(9);
  cut.set_epoch(epoch);
  return EvaluationRound(plan, cut);
}

std::vector<int64_t> Batches(const std::vector<proto::Split>& splits) {
  std::vector<int64_t> batches;
  for (const proto::Split& split : splits) {
    for (int64_t i = 0; i < split.count(); ++i) batches.push_back(split.first() + i);
  }
  return batches;
}

TEST(EvaluationRoundTest, EveryBatchIsGivenOnceAndTheResultIsTheMeanOverExamples) {
  EvaluationRound evaluation = MakeRound(4, 3);
  std::set<int64_t> given;
  for (uint32_t worker : {0, 1}) {
    for (int64_t batch : Batches(evaluation.Grant(WorkerTask(worker), 2, kStart))) {
      EXPECT_TRUE(given.insert(batch).second);
    }
  }
  EXPECT_EQ(given, (std::set<int64_t>{0, 1, 2}));
  evaluation.Done(WorkerTask(0), Evaluated(0, 10), kStart);
  evaluation.Done(WorkerTask(0), Evaluated(1, 30), kStart);
  EXPECT_FALSE(evaluation.done());
  evaluation.Done(WorkerTask(1), Evaluated(2, 20, /*examples=*/5), kStart);
  ASSERT_TRUE(evaluation.done());
  const proto::EvaluationRecord result = evaluation.Result();
  EXPECT_EQ(result.epoch(), 4);
  EXPECT_EQ(result.examples(), 25);
  EXPECT_DOUBLE_EQ(result.loss(), 60.0 / 25);
  EXPECT_DOUBLE_EQ(result.metrics(0), 15.0 / 25);
}

TEST(EvaluationRoundTest, DataThatAreNotFiniteInAnyBatchAreTheResults) {
  for (const int64_t bad : {-1, 0, 1}) {
    EvaluationRound evaluation = MakeRound(0, 2);
    evaluation.Grant(WorkerTask(0), 1, kStart);
    for (const int64_t batch : {1, 0}) {
      proto::EvaluatedBatch done = Evaluated(batch, 10);
      done.set_data_not_finite(batch == bad);
      evaluation.Done(WorkerTask(0), done, kStart);
    }
    EXPECT_EQ(evaluation.Result().data_not_finite(), bad >= 0);
  }
}

TEST(EvaluationRoundTest, OnlyTheFirstResultOfAWorkerThatWasAskedCounts) {
  EvaluationRound evaluation = MakeRound(0, 2);
  EXPECT_EQ(Batches(evaluation.Grant(WorkerTask(0), 1, kStart)), (std::vector<int64_t>{0, 1}));
  evaluation.Done(WorkerTask(1), Evaluated(0, 99), kStart);
  evaluation.Done(WorkerTask(0), Evaluated(0, 10), kStart);
  evaluation.Done(WorkerTask(0), Evaluated(0, 99), kStart);
  EXPECT_FALSE(evaluation.done());
  evaluation.Done(WorkerTask(0), Evaluated(1, 10), kStart);
  EXPECT_DOUBLE_EQ(evaluation.Result().loss(), 1);
}

TEST(EvaluationRoundTest, TheResultIsBitIdenticalInAnyOrderOfReports) {
  const std::vector<double> losses = {1e16, 1, -1e16, 0.1, 3};
  double expected = 0;
  for (const double loss : losses) expected += loss;
  for (const std::vector<int64_t>& order :
       {std::vector<int64_t>{0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {2, 4, 0, 3, 1}}) {
    EvaluationRound evaluation = MakeRound(0, 5);
    // One batch for each worker.
    for (uint32_t worker = 0; worker < 5; ++worker) evaluation.Grant(WorkerTask(worker), 5, kStart);
    for (int64_t batch : order) {
      evaluation.Done(WorkerTask(static_cast<uint32_t>(batch)), Evaluated(batch, losses[batch], 1),
                      kStart);
    }
    EXPECT_EQ(evaluation.Result().loss(), expected / 5);
  }
}

TEST(EvaluationRoundTest, UnreportedBatchesOfADeadWorkerGoToOthers) {
  EvaluationRound evaluation = MakeRound(0, 2);
  EXPECT_EQ(Batches(evaluation.Grant(WorkerTask(0), 1, kStart)), (std::vector<int64_t>{0, 1}));
  evaluation.Done(WorkerTask(0), Evaluated(0, 10), kStart);
  evaluation.Drop(WorkerTask(0));
  EXPECT_EQ(Batches(evaluation.Grant(WorkerTask(1), 1, kStart)), (std::vector<int64_t>{1}));
}

TEST(EvaluationRoundTest, BatchesUnreportedForAMinuteGoToOthersToo) {
  EvaluationRound evaluation = MakeRound(0, 2);
  evaluation.Grant(WorkerTask(0), 1, kStart);
  EXPECT_TRUE(evaluation.Grant(WorkerTask(1), 2, kStart + absl::Seconds(59)).empty());
  EXPECT_FALSE(evaluation.Grant(WorkerTask(1), 2, kStart + absl::Seconds(61)).empty());
}

TEST(EvaluationRoundTest, ReportsThatCannotBeAreIgnored) {
  EvaluationRound evaluation = MakeRound(0, 1);
  evaluation.Grant(WorkerTask(0), 1, kStart);
  proto::EvaluatedBatch other_cut = Evaluated(0, 1);
  other_cut.set_cut(8);
  proto::EvaluatedBatch no_metrics = Evaluated(0, 1);
  no_metrics.clear_metric_states();
  for (const auto& batch : {other_cut, no_metrics, Evaluated(-1, 1), Evaluated(1, 1),
                            Evaluated(0, 1, /*examples=*/-3)}) {
    evaluation.Done(WorkerTask(0), batch, kStart);
  }
  EXPECT_FALSE(evaluation.done());
}

TEST(EvaluationRoundTest, AQuickWorkerGetsMoreAtOnce) {
  EvaluationRound evaluation = MakeRound(0, 10000);
  std::vector<int64_t> on_hand = Batches(evaluation.Grant(WorkerTask(0), 2, kStart));
  EXPECT_EQ(on_hand.size(), 2u);
  absl::Duration now = kStart;
  for (int round = 0; round < 20; ++round) {
    now += absl::Milliseconds(10) * static_cast<int64_t>(on_hand.size());
    for (int64_t batch : on_hand) evaluation.Done(WorkerTask(0), Evaluated(batch, 1), now);
    on_hand = Batches(evaluation.Grant(WorkerTask(0), 2, now));
  }
  EXPECT_GE(on_hand.size(), 25u);  // Half a second at 100 per second, or a little less.
  EXPECT_LE(on_hand.size(), 50u);
}

}  // namespace
}  // namespace cairn::coordinator
