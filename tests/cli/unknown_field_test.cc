#include "cli/unknown_field.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/job.pb.h"

namespace cairn::cli {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

template <typename Message>
std::string Refusal(const std::string& path, const std::string& key,
                    const json& object = json::object()) {
  const absl::Status status = UnknownField(path, key, object, *Message::descriptor());
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(UnknownFieldTest, AWordOfKerasIsAnsweredWithWhatToSay) {
  EXPECT_EQ(Refusal<proto::Job>("", "batch"), "batch: unknown field; here it is \"batch_size\"");
  EXPECT_EQ(Refusal<proto::Optimizer>("optimizer", "lr"),
            "optimizer.lr: unknown field; here it is \"learning_rate\"");
}

TEST(UnknownFieldTest, SuggestsTheNearestField) {
  EXPECT_EQ(Refusal<proto::Job>("", "optimiser"),
            "optimiser: unknown field; did you mean \"optimizer\"?");
  EXPECT_EQ(Refusal<proto::Job>("", "loss_wieghts"),
            "loss_wieghts: unknown field; did you mean \"loss_weights\"?");
  EXPECT_EQ(Refusal<proto::Metric>("", "ass"), "ass: unknown field; did you mean \"as\"?");
}

TEST(UnknownFieldTest, ListsTheKnownFieldsForAnyOtherName) {
  EXPECT_THAT(Refusal<proto::Job>("", "frobnication"),
              AllOf(HasSubstr("frobnication: unknown field; known here: name, "),
                    HasSubstr("loss_weights"), Not(HasSubstr("metric_arguments"))));
}

TEST(UnknownFieldTest, AnUnknownNameIsSaidBeforeWhatGoesWithIt) {
  EXPECT_EQ(Refusal<proto::Callback>("callbacks[0]", "log_dir",
                                     {{"name", "CSVLog"}, {"log_dir", "logs"}}),
            "callbacks[0].name: unknown callback 'CSVLog'; known: early_stopping, "
            "model_checkpoint, reduce_lr_on_plateau, learning_rate_scheduler, "
            "learning_rate_warmup, csv_logger, backup_and_restore, terminate_on_nan");
  EXPECT_THAT(Refusal<proto::Loss>("loss", "gamma", {{"name", "focal"}, {"gamma", 2}}),
              HasSubstr("loss: unknown loss 'focal'; known: "));
  EXPECT_THAT(Refusal<proto::Metric>("", "beta", {{"name", "f1"}, {"beta", 1}}),
              HasSubstr("unknown metric 'f1'; say {\"name\": \"f1_score\", "));
  EXPECT_THAT(Refusal<proto::Optimizer>("optimizer", "sync", {{"name", "lookahead"}}),
              HasSubstr("optimizer: unknown optimizer 'lookahead'; known: sgd, "));
  EXPECT_THAT(Refusal<proto::LearningRateSchedule>("optimizer.learning_rate", "T_max",
                                                   {{"name", "CosineAnnealing"}}),
              HasSubstr("optimizer.learning_rate: unknown schedule 'CosineAnnealing'; say "
                        "'cosine_decay'"));
}

TEST(UnknownFieldTest, ACallbackHasItsOwnArguments) {
  EXPECT_EQ(Refusal<proto::Callback>("callbacks[0]", "frob", {{"name", "EarlyStopping"}}),
            "callbacks[0].frob: unknown field; known here: name, monitor, mode, min_delta, "
            "patience, baseline, restore_best_weights, start_from_epoch");
  EXPECT_EQ(Refusal<proto::Callback>("callbacks[0]", "patienc", {{"name", "terminate_on_nan"}}),
            "callbacks[0].patienc: unknown field; known here: name");
  EXPECT_EQ(Refusal<proto::Callback>("callbacks[0]", "filepath", {{"name", "model_checkpoint"}}),
            "callbacks[0].filepath: unknown field; checkpoints lie in the state directory; leave "
            "it out");
}

}  // namespace
}  // namespace cairn::cli
