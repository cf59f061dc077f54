#include "coordinator/callbacks/epoch_decisions.h"

#include <gtest/gtest.h>

#include "google/protobuf/text_format.h"

namespace cairn::coordinator {
namespace {

proto::Job JobOf(const std::string& callbacks) {
  proto::Job job;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(callbacks, &job));
  job.add_metrics("accuracy");
  job.mutable_validation();
  return job;
}

proto::EpochRecord Epoch(double loss, double accuracy, double val_loss, double val_accuracy) {
  proto::EpochRecord record;
  record.mutable_training()->set_examples(10);
  record.mutable_training()->set_loss(loss);
  record.mutable_training()->add_metrics(accuracy);
  record.mutable_validation()->set_examples(10);
  record.mutable_validation()->set_loss(val_loss);
  record.mutable_validation()->add_metrics(val_accuracy);
  return record;
}

TEST(EpochDecisionsTest, EachCallbackSeesItsMonitoredValue) {
  for (const auto& [monitor, stops] : std::vector<std::pair<std::string, bool>>{
           {"loss", false}, {"accuracy", true}, {"val_loss", true}, {"val_accuracy", false}}) {
    const proto::Job job = JobOf("callbacks { name: 'early_stopping' monitor: '" + monitor + "' }");
    auto decisions = EpochDecisions::Create(job);
    ASSERT_TRUE(decisions.ok()) << decisions.status();
    decisions->Take(Epoch(2, 0.5, 2, 0.5), 1);
    EXPECT_EQ(decisions->Take(Epoch(1, 0.4, 3, 0.6), 1).stop, stops) << monitor;
  }
}

TEST(EpochDecisionsTest, ReplayedRecordsGiveTheSameState) {
  const proto::Job job = JobOf(
      "callbacks { name: 'reduce_lr_on_plateau' patience: 1 factor: 0.5 cooldown: 1 }"
      "callbacks { name: 'early_stopping' patience: 3 restore_best_weights: true }");
  const std::vector<double> values = {3, 2, 2.5, 2.6, 2.1};
  for (size_t restart = 0; restart <= values.size(); ++restart) {
    auto decisions = EpochDecisions::Create(job);
    EpochDecisions::Outcome outcome;
    std::vector<float> rates = {1};  // By epoch.
    for (size_t i = 0; i < values.size(); ++i) {
      if (i == restart) {
        decisions = EpochDecisions::Create(job);
        for (size_t j = 0; j < i; ++j) decisions->Take(Epoch(0, 0, values[j], 0), rates[j]);
      }
      outcome = decisions->Take(Epoch(0, 0, values[i], 0), rates[i]);
      rates.push_back(outcome.learning_rate.value_or(rates[i]));
      EXPECT_EQ(outcome.stop, i == 4) << i;
    }
    EXPECT_EQ(rates.back(), 0.125f);
    ASSERT_EQ(decisions->bests().size(), 1);
    EXPECT_EQ(decisions->bests()[0].callback, 1);
    EXPECT_EQ(decisions->bests()[0].epoch.epoch, 1);
  }
}

TEST(EpochDecisionsTest, ARecordWithoutTheValueIsNoImprovement) {
  const proto::Job job = JobOf("callbacks { name: 'early_stopping' monitor: 'val_loss' }");
  auto decisions = EpochDecisions::Create(job);
  decisions->Take(Epoch(1, 1, 1, 1), 1);
  proto::EpochRecord record;
  record.mutable_validation();
  EXPECT_TRUE(decisions->Take(record, 1).stop);
}

TEST(EpochDecisionsTest, AnEpochThatIsNotValidatedIsNotSeen) {
  const proto::Job job = JobOf(
      "callbacks { name: 'early_stopping' patience: 1 }"
      "callbacks { name: 'early_stopping' monitor: 'loss' patience: 3 }");
  auto decisions = EpochDecisions::Create(job);
  decisions->Take(Epoch(1, 1, 1, 1), 1);
  proto::EpochRecord not_validated = Epoch(1, 1, 1, 1);
  not_validated.clear_validation();
  EXPECT_FALSE(decisions->Take(not_validated, 1).stop);
  EXPECT_FALSE(decisions->Take(not_validated, 1).stop);
  EXPECT_TRUE(decisions->Take(not_validated, 1).stop);  // By the loss.
}

TEST(EpochDecisionsTest, EpochsAreNumberedFromTheInitialOne) {
  proto::Job job = JobOf("callbacks { name: 'early_stopping' restore_best_weights: true }");
  job.set_initial_epoch(5);
  auto decisions = EpochDecisions::Create(job);
  // In epoch 0 nothing would stop.
  decisions->Take(Epoch(1, 1, 1, 1), 1);
  const auto outcome = decisions->Take(Epoch(1, 1, 2, 1), 1);
  EXPECT_TRUE(outcome.stop);
  EXPECT_EQ(outcome.notes[0].find("early_stopping after epoch 7: "), 0u) << outcome.notes[0];
  EXPECT_EQ(decisions->bests()[0].epoch.epoch, 5);
}

TEST(EpochDecisionsTest, OnlyCallbacksThatChangeTrainingMakeTheNextEpochWait) {
  EXPECT_FALSE(EpochDecisions::Create(JobOf("callbacks { name: 'model_checkpoint' "
                                            "save_best_only: true }"))
                   ->changes_training());
  EXPECT_TRUE(
      EpochDecisions::Create(JobOf("callbacks { name: 'early_stopping' }"))->changes_training());
}

}  // namespace
}  // namespace cairn::coordinator
