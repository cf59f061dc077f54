#include "job/callback_kinds.h"

#include <gtest/gtest.h>

namespace cairn::job {
namespace {

std::string Refusal(const std::string& name) {
  return std::string(FindCallbackKind("callbacks[1]", name).status().message());
}

TEST(CallbackKindsTest, AreFoundByKerassNamesInBothSpellings) {
  for (const char* name : {"early_stopping", "EarlyStopping"}) {
    const auto kind = FindCallbackKind("callbacks[0]", name);
    ASSERT_TRUE(kind.ok()) << kind.status();
    EXPECT_EQ((*kind)->name, "early_stopping");
  }
  EXPECT_EQ((*FindCallbackKind("", "ReduceLROnPlateau"))->name, "reduce_lr_on_plateau");
  EXPECT_EQ((*FindCallbackKind("", "TerminateOnNaN"))->name, "terminate_on_nan");
  EXPECT_EQ((*FindCallbackKind("", "LearningRateScheduler"))->name, "learning_rate_scheduler");
  EXPECT_EQ((*FindCallbackKind("", "CSVLogger"))->name, "csv_logger");
  EXPECT_EQ((*FindCallbackKind("", "BackupAndRestore"))->name, "backup_and_restore");
  EXPECT_TRUE(IsCallback("CSVLogger", "csv_logger"));
  EXPECT_FALSE(IsCallback("CSVLogger", "model_checkpoint"));
}

TEST(CallbackKindsTest, OthersAreRefusedWithTheListOrWithWhatToDo) {
  const std::string known =
      "known: early_stopping, model_checkpoint, reduce_lr_on_plateau, learning_rate_scheduler, "
      "learning_rate_warmup, csv_logger, backup_and_restore, terminate_on_nan";
  EXPECT_EQ(Refusal("EarlyStop"),
            "callbacks[1].name: unknown callback 'EarlyStop'; use 'early_stopping'; " + known);
  EXPECT_EQ(Refusal("savebest"),
            "callbacks[1].name: unknown callback 'savebest'; use {\"name\": \"model_checkpoint\", "
            "\"save_best_only\": true}; " +
                known);
  EXPECT_EQ(
      Refusal("reduce_lr"),
      "callbacks[1].name: unknown callback 'reduce_lr'; use 'reduce_lr_on_plateau'; " + known);
  EXPECT_EQ(Refusal("early_stoping"),
            "callbacks[1].name: unknown callback 'early_stoping'; did you mean 'early_stopping'? " +
                known);
  EXPECT_EQ(Refusal("TensorBoard"),
            "callbacks[1].name: unknown callback 'TensorBoard'; cairn history JOB --json has loss "
            "and metrics of every batch; leave it out; " +
                known);
  EXPECT_EQ(Refusal(""), "callbacks[1].name: is missing; " + known);
}

TEST(CallbackKindsTest, EachHasItsOwnArguments) {
  const CallbackKind& stopping = **FindCallbackKind("", "early_stopping");
  EXPECT_TRUE(CheckCallbackArgument("callbacks[0]", stopping, "patience").ok());
  EXPECT_EQ(CheckCallbackArgument("callbacks[0]", stopping, "factor").message(),
            "callbacks[0].factor: early_stopping has no such argument; it has monitor, mode, "
            "min_delta, patience, baseline, restore_best_weights, start_from_epoch");
}

TEST(CallbackKindsTest, TheSmallestNumberOfBatchesSaysWhenACheckpointIsDue) {
  proto::Job job;
  EXPECT_EQ(CheckpointStepsOf(job), 0);
  job.add_callbacks()->set_save_freq(300);
  EXPECT_EQ(CheckpointStepsOf(job), 300);
  job.mutable_checkpoint()->set_every_steps(400);
  job.add_callbacks()->set_save_freq(200);
  job.add_callbacks()->set_save_freq_word("epoch");
  EXPECT_EQ(CheckpointStepsOf(job), 200);
  job.mutable_checkpoint()->set_every_steps(100);
  EXPECT_EQ(CheckpointStepsOf(job), 100);
}

}  // namespace
}  // namespace cairn::job
