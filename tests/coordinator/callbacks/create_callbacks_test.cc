#include "coordinator/callbacks/create_callbacks.h"

#include <gtest/gtest.h>

#include <string>

#include "google/protobuf/text_format.h"

namespace cairn::coordinator {
namespace {

std::string Refusal(const std::string& callback, bool validated = true) {
  proto::Job job;
  job.add_metrics("accuracy");
  if (validated) job.mutable_validation();
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(callback, job.add_callbacks()));
  const auto created = CreateCallbacks(job);
  return created.ok() ? "" : std::string(created.status().message());
}

TEST(CreateCallbacksTest, KnowsKerassNamesInBothSpellings) {
  for (const char* name :
       {"early_stopping", "EarlyStopping", "model_checkpoint", "ModelCheckpoint",
        "reduce_lr_on_plateau", "ReduceLROnPlateau", "terminate_on_nan", "TerminateOnNaN"}) {
    EXPECT_EQ(Refusal(std::string("name: '") + name + "'"), "") << name;
  }
}

TEST(CreateCallbacksTest, RejectsUnknownCallbacksAndArgumentsByPath) {
  EXPECT_EQ(Refusal("name: 'early_stop'"),
            "callbacks[0].name: unknown callback 'early_stop'; use 'early_stopping'; known: "
            "early_stopping, "
            "model_checkpoint, reduce_lr_on_plateau, terminate_on_nan");
  EXPECT_EQ(Refusal("name: 'terminate_on_nan' patience: 1"),
            "callbacks[0].patience: terminate_on_nan has no such argument; it has none");
  EXPECT_EQ(Refusal("name: 'early_stopping' factor: 0.5"),
            "callbacks[0].factor: early_stopping has no such argument; it has monitor, mode, "
            "min_delta, patience, baseline, restore_best_weights, start_from_epoch");
}

TEST(CreateCallbacksTest, RefusesValuesThatCannotBe) {
  EXPECT_EQ(Refusal("name: 'early_stopping' patience: -1"),
            "callbacks[0].patience: -1 is not a number of 0 or more");
  EXPECT_EQ(Refusal("name: 'early_stopping' mode: 'least'"),
            "callbacks[0].mode: 'least' is unknown; known are auto, min, max");
  EXPECT_EQ(Refusal("name: 'reduce_lr_on_plateau' factor: 1"),
            "callbacks[0].factor: 1 is not between 0 and 1");
  EXPECT_EQ(Refusal("name: 'model_checkpoint' save_freq: '100'"),
            "callbacks[0].save_freq: '100' is not \"epoch\"; checkpoints every so many batches are "
            "made by checkpoint.every_steps");
}

TEST(CreateCallbacksTest, RejectsAMonitorThatTheJobLacks) {
  EXPECT_EQ(Refusal("name: 'early_stopping'", /*validated=*/false),
            "callbacks[0].monitor: 'val_loss' needs validation data, and the job has none; say "
            "validation, or monitor 'loss'");
  EXPECT_EQ(Refusal("name: 'early_stopping' monitor: 'val_mae'"),
            "callbacks[0].monitor: 'val_mae' is neither loss nor one of the job's metrics; known "
            "are loss, accuracy, and each with val_ before it");
}

TEST(CreateCallbacksTest, RefusesToSetTheRateThatAScheduleMakes) {
  proto::Job job;
  job.mutable_optimizer()->mutable_learning_rate_schedule()->set_name("cosine_decay");
  job.add_callbacks()->set_name("reduce_lr_on_plateau");
  job.mutable_callbacks(0)->set_monitor("loss");
  EXPECT_EQ(CreateCallbacks(job).status().message(),
            "callbacks[0].name: reduce_lr_on_plateau and a schedule, cosine_decay, cannot both "
            "make the learning rate; keep one of them");
}

TEST(CreateCallbacksTest, TheDirectionFollowsFromTheMonitorsName) {
  proto::Job job;
  job.mutable_validation();
  job.add_metrics("accuracy");
  for (const char* monitor : {"val_accuracy", "val_loss"}) {
    proto::Callback* callback = job.add_callbacks();
    callback->set_name("model_checkpoint");
    callback->set_save_best_only(true);
    callback->set_monitor(monitor);
  }
  const auto callbacks = CreateCallbacks(job);
  ASSERT_TRUE(callbacks.ok());
  ASSERT_EQ(callbacks->monitoring.size(), 2);
  for (const auto& each : callbacks->monitoring) {
    each.callback->OnEpochEnd({0, 0.5, 0});
    each.callback->OnEpochEnd({1, 0.75, 0});
  }
  EXPECT_EQ(callbacks->monitoring[0].callback->best()->epoch, 1);
  EXPECT_EQ(callbacks->monitoring[1].callback->best()->epoch, 0);
}

TEST(CreateCallbacksTest, AModelCheckpointOfEveryEpochHasNothingToDecide) {
  proto::Job job;
  job.add_callbacks()->set_name("model_checkpoint");
  job.add_callbacks()->set_name("terminate_on_nan");
  const auto callbacks = CreateCallbacks(job);
  ASSERT_TRUE(callbacks.ok()) << callbacks.status();
  EXPECT_TRUE(callbacks->monitoring.empty());
  EXPECT_TRUE(callbacks->terminate_on_nan);
}

}  // namespace
}  // namespace cairn::coordinator
