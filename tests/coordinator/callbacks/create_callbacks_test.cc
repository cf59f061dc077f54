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
            "model_checkpoint, reduce_lr_on_plateau, learning_rate_scheduler, "
            "learning_rate_warmup, csv_logger, backup_and_restore, terminate_on_nan");
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
  EXPECT_EQ(Refusal("name: 'model_checkpoint' save_freq_word: 'batch'"),
            "callbacks[0].save_freq: 'batch' is neither \"epoch\" nor a number of batches");
  EXPECT_EQ(Refusal("name: 'model_checkpoint' save_freq: 0"),
            "callbacks[0].save_freq: 0 is not from 1 to 1099511627776");
  EXPECT_EQ(Refusal("name: 'model_checkpoint' save_freq: 5 save_best_only: true"),
            "callbacks[0].save_freq: 5 batches conflict with save_best_only, which compares "
            "epochs; say \"epoch\"");
  EXPECT_EQ(Refusal("name: 'early_stopping' save_freq: 5").substr(0, 65),
            "callbacks[0].save_freq: early_stopping has no such argument; it h");
}

TEST(CreateCallbacksTest, RefusesSchedulesThatAreNone) {
  const std::string scheduler = "name: 'learning_rate_scheduler' ";
  EXPECT_EQ(Refusal(scheduler + "schedule_epochs: [0.1, 0]"), "");
  EXPECT_EQ(Refusal(scheduler),
            "callbacks[0].schedule: is missing; say the rate of each epoch, [0.1, 0.1, 0.01], or a "
            "schedule of the epoch as the optimizer's learning_rate");
  EXPECT_EQ(Refusal(scheduler + "schedule_epochs: [0.1, -1]"),
            "callbacks[0].schedule[1]: -1 is not a learning rate of 0 or more");
  EXPECT_EQ(Refusal(scheduler + "schedule_epochs: 1e39"),
            "callbacks[0].schedule[0]: 1e+39 is not a learning rate of 0 or more");
  EXPECT_EQ(Refusal(scheduler + "schedule { name: 'cosine_decay' decay_steps: 3 }"),
            "callbacks[0].schedule: cosine_decay: 'initial_learning_rate' is missing");
  EXPECT_EQ(Refusal("name: 'csv_logger' filename: 'a' schedule_epochs: 1"),
            "callbacks[0].schedule: csv_logger has no such argument; it has filename, separator, "
            "append");
}

TEST(CreateCallbacksTest, RefusesWarmUpsThatCannotBe) {
  const std::string warmup = "name: 'learning_rate_warmup' ";
  EXPECT_EQ(Refusal(warmup + "size: 8 initial_lr: 0.1 warmup_epochs: 3"), "");
  EXPECT_EQ(Refusal(warmup + "size: 8 initial_lr: 0"),
            "callbacks[0].initial_lr: 0 is not a learning rate above 0");
  EXPECT_EQ(Refusal(warmup + "size: 8 warmup_epochs: 0"),
            "callbacks[0].warmup_epochs: 0 is not from 1 to 50000");
  EXPECT_EQ(Refusal(warmup + "size: 5000"), "callbacks[0].size: 5000 is not from 1 to 4096");
  EXPECT_EQ(Refusal(warmup),
            "callbacks[0].size: is missing; the rate warms up from learning_rate / size, and the "
            "updates of an asynchronous job are single batches. Say for example the number of "
            "workers");
}

TEST(CreateCallbacksTest, RefusesFilesThatCsvLoggersCannotWrite) {
  EXPECT_EQ(Refusal("name: 'csv_logger' filename: 'log.csv' separator: '\t'"), "");
  EXPECT_EQ(Refusal("name: 'csv_logger'"),
            "callbacks[0].filename: is missing; for example \"filename\": \"log.csv\"");
  EXPECT_EQ(Refusal("name: 'csv_logger' filename: 'log.csv' separator: ', '"),
            "callbacks[0].separator: \", \" is not one printable ASCII character or a tab");
  EXPECT_EQ(Refusal("name: 'csv_logger' filename: 'log.csv' separator: ''"),
            "callbacks[0].separator: \"\" is not one printable ASCII character or a tab");
  proto::Job job;
  for (int i = 0; i < 2; ++i) {
    job.add_callbacks()->set_name("csv_logger");
    job.mutable_callbacks(i)->set_filename("/tmp/log.csv");
  }
  EXPECT_EQ(CreateCallbacks(job).status().message(),
            "callbacks[1].filename: another csv_logger writes '/tmp/log.csv', too");
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
  job.clear_optimizer();
  job.add_callbacks()->set_name("LearningRateScheduler");
  job.mutable_callbacks(1)->add_schedule_epochs(0.1);
  EXPECT_EQ(CreateCallbacks(job).status().message(),
            "callbacks[1].name: reduce_lr_on_plateau and learning_rate_scheduler cannot both set "
            "the learning rate; keep one of them");
  job.mutable_callbacks(0)->set_name("learning_rate_warmup");
  job.mutable_callbacks(0)->clear_monitor();
  job.mutable_callbacks(0)->set_size(4);
  EXPECT_TRUE(CreateCallbacks(job).ok()) << CreateCallbacks(job).status();
  *job.add_callbacks() = job.callbacks(0);
  EXPECT_EQ(CreateCallbacks(job).status().message(),
            "callbacks[2].name: a second learning_rate_warmup; one of them can set the rate");
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
