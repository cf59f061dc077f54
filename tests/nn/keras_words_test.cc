#include "nn/keras_words.h"

#include <set>
#include <string>

#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"
#include "nn/loss.h"
#include "proto/job.pb.h"

namespace cairn::nn {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(KerasWordsTest, CaseAndUnderscoresDoNotMatter) {
  for (const char* word : {"validation_split", "validationSplit", "VALIDATION_SPLIT"}) {
    EXPECT_THAT(std::string(KerasWord("Job", word)), HasSubstr("\"validation_fraction\"")) << word;
  }
}

TEST(KerasWordsTest, AWordHasAMeaningWhereItStands) {
  EXPECT_THAT(std::string(KerasWord("Job", "lr")), HasSubstr("\"optimizer\": {"));
  EXPECT_EQ(KerasWord("Optimizer", "lr"), "here it is \"learning_rate\"");
  EXPECT_EQ(KerasWord("LearningRateSchedule", "lr"), "here it is \"initial_learning_rate\"");
  EXPECT_EQ(KerasWord("Partitioner", "lr"), "");
  EXPECT_EQ(KerasWord("Job", ""), "");
  EXPECT_EQ(KerasWord("Job", "lr batch"), "") << "two words";
}

// A field of the message is never answered with something else. An optimizer's schedule is: in a
// job file it is said as an object under "learning_rate".
void ExpectNoneOf(const google::protobuf::Descriptor& type) {
  // A source may have sources.
  static auto* const seen = new std::set<std::string>;
  if (!seen->insert(type.full_name()).second) return;
  for (int i = 0; i < type.field_count(); ++i) {
    const auto& field = *type.field(i);
    EXPECT_EQ(KerasWord(type.name(), field.name()), "") << type.name() << "." << field.name();
    const auto* nested = field.message_type();
    if (nested != nullptr && nested->name() != "Optimizer") ExpectNoneOf(*nested);
  }
}

TEST(KerasWordsTest, WhatAJobFileHasIsNoForeignWord) {
  // Said as an object under "learning_rate".
  const auto& schedule = *proto::LearningRateSchedule::descriptor();
  ExpectNoneOf(schedule);
  const auto& job = *proto::Job::descriptor();
  for (int i = 0; i < job.field_count(); ++i) {
    EXPECT_EQ(KerasWord("Job", job.field(i)->name()), "") << job.field(i)->name();
    const auto* type = job.field(i)->message_type();
    if (type != nullptr && type->name() != "Optimizer") ExpectNoneOf(*type);
  }
  for (const std::string& loss : LossNames()) {
    EXPECT_EQ(KerasWord("loss", loss), "") << loss;
    EXPECT_EQ(KerasWord("metric", loss), "") << loss;
  }
}

TEST(KerasWordsTest, AnUnknownNameIsAnsweredWithAdviceOrTheNearestOne) {
  const std::vector<std::string> known = {"sgd", "adam"};
  EXPECT_EQ(UnknownNameText("optimizer", "Momentum", known),
            "say {\"name\": \"sgd\", \"momentum\": 0.9}; known: sgd, adam");
  EXPECT_EQ(UnknownNameText("optimizer", "adma", known), "did you mean 'adam'? known: sgd, adam");
  EXPECT_THAT(UnknownNameText("loss", "Momentum", known), Not(HasSubstr("sgd\",")));
}

}  // namespace
}  // namespace cairn::nn
