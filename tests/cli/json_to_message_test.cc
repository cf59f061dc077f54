#include "cli/json_to_message.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/job.pb.h"

namespace cairn::cli {
namespace {

using ::testing::HasSubstr;

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

TEST(JsonToMessageTest, OptionalFieldsThatWereNotSaidStayAbsent) {
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

TEST(JsonToMessageTest, FarNamesAreAnsweredWithTheWholeList) {
  proto::Loss loss;
  EXPECT_EQ(Refusal(R"({"reduction": "sum"})", &loss),
            "reduction: unknown field; known here: name, from_logits");
  EXPECT_THAT(Refusal(R"({"fromlogits": true})", &loss), HasSubstr("did you mean"));
}

}  // namespace
}  // namespace cairn::cli
