#include "cli/json_to_message.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/job.pb.h"

namespace cairn::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Refusal(const std::string& text, google::protobuf::Message* message) {
  return std::string(JsonToMessage(nlohmann::json::parse(text), message).message());
}

TEST(JsonToMessageTest, FieldsOfEveryTypeArrive) {
  proto::Job job;
  EXPECT_EQ(Refusal(R"({"name": "a", "metrics": ["x", "y"], "seed": 7, "epochs": 2,
                        "shuffle": false, "train": {"scale": 0.1}, "loss": "mse"})",
                    &job),
            "");
  EXPECT_EQ(job.ShortDebugString(),
            "name: \"a\" train { scale: 0.1 } loss { name: \"mse\" } metrics: \"x\" "
            "metrics: \"y\" epochs: 2 shuffle: false seed: 7");
}

TEST(JsonToMessageTest, OptionalFieldsThatAreNotSetStayAbsent) {
  proto::Job job;
  EXPECT_EQ(Refusal(R"({"shuffle": false})", &job), "");
  EXPECT_TRUE(job.has_shuffle());
  EXPECT_FALSE(job.has_seed());
}

TEST(JsonToMessageTest, MembersOfMessagesInListsAreNamedByPosition) {
  proto::PartitionMap map;
  EXPECT_EQ(Refusal(R"({"variables": ["w", {"name": "b", "shape": [2, true]}]})", &map),
            "variables[1].shape[1]: true is not a whole number");
}

TEST(JsonToMessageTest, AMapIsAnObjectWhoseKeysAreWholeNumbers) {
  proto::Job job;
  EXPECT_EQ(Refusal(R"({"class_weight": {"0": 1, "1": 2.5}})", &job), "");
  ASSERT_EQ(job.class_weight().size(), 2);
  EXPECT_EQ(job.class_weight().at(1), 2.5);
  EXPECT_EQ(Refusal(R"({"class_weight": {"cat": 1}})", &job),
            "class_weight.cat: \"cat\" is not a whole number");
  EXPECT_EQ(Refusal(R"({"class_weight": {"0": "much"}})", &job),
            "class_weight.0: \"much\" is not a number");
  EXPECT_THAT(Refusal(R"({"class_weight": [1, 2]})", &job), HasSubstr("is not an object like"));
}

TEST(JsonToMessageTest, FarNamesAreAnsweredWithTheWholeList) {
  proto::NamedNumber number;
  EXPECT_EQ(Refusal(R"({"reduction": "sum"})", &number),
            "reduction: unknown field; known here: name, value");
  proto::Loss loss;
  EXPECT_THAT(Refusal(R"({"fromlogits": true})", &loss), HasSubstr("did you mean"));
}

TEST(JsonToMessageTest, TheListOmitsFieldsThatHaveAnotherFormInFiles) {
  proto::Job job;
  EXPECT_THAT(
      Refusal(R"({"frobnication": 1})", &job),
      AllOf(HasSubstr("metrics, "), Not(HasSubstr("metric_arguments")), Not(HasSubstr("outputs"))));
}

TEST(JsonToMessageTest, AnObjectForANumberGoesToItsSchedule) {
  proto::Optimizer optimizer;
  EXPECT_EQ(Refusal(R"({"learning_rate": 0.5})", &optimizer), "");
  EXPECT_EQ(optimizer.learning_rate(), 0.5);
  optimizer.Clear();
  EXPECT_EQ(Refusal(R"({"learning_rate": {"name": "constant"}})", &optimizer), "");
  EXPECT_EQ(optimizer.learning_rate_schedule().name(), "constant");
  EXPECT_EQ(Refusal(R"({"momentum": {"name": "constant"}})", &optimizer),
            "momentum: {\"name\":\"constant\"} is not a number");
}

TEST(JsonToMessageTest, AListForAPeriodIsAListOfEpochs) {
  proto::Job job;
  EXPECT_EQ(Refusal(R"({"validation_freq": 2})", &job), "");
  EXPECT_EQ(job.validation_freq(), 2);
  job.Clear();
  EXPECT_EQ(Refusal(R"({"validation_freq": [2]})", &job), "");
  EXPECT_FALSE(job.has_validation_freq());
  EXPECT_EQ(job.validation_freq_epochs_size(), 1);
  EXPECT_EQ(Refusal(R"({"validation_freq": ["2"]})", &job),
            "validation_freq[0]: \"2\" is not a whole number");
  EXPECT_EQ(Refusal(R"({"validation_freq": []})", &job), "validation_freq: the list is empty");

  proto::Callback callback;
  EXPECT_EQ(Refusal(R"({"schedule": 0.5})", &callback), "") << "as [0.5]";
  EXPECT_EQ(callback.schedule_epochs_size(), 1);
  proto::CheckpointPolicy policy;
  EXPECT_THAT(Refusal(R"({"every": [2]})", &policy), HasSubstr("unknown field"));
}

TEST(JsonToMessageTest, TheScheduleHasNoNameOfItsOwn) {
  proto::Optimizer optimizer;
  for (const char* value : {R"({"name": "constant"})", R"("constant")"}) {
    EXPECT_EQ(Refusal(absl::StrCat(R"({"learning_rate_schedule": )", value, "}"), &optimizer)
                  .rfind("learning_rate_schedule: unknown field", 0),
              0);
  }
  EXPECT_THAT(Refusal(R"({"frobnication": 1})", &optimizer),
              AllOf(HasSubstr("learning_rate, "), Not(HasSubstr("schedule"))));
}

}  // namespace
}  // namespace cairn::cli
