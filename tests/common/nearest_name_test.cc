#include "common/nearest_name.h"

#include <vector>

#include "gtest/gtest.h"

namespace cairn {
namespace {

const std::vector<std::string> kNames = {"status", "submit", "jobs", "learning_rate", "adam"};

TEST(NearestNameTest, EveryKindOfTypingErrorIsRecognized) {
  EXPECT_EQ(NearestName("statu", kNames), "status") << "missing";
  EXPECT_EQ(NearestName("sttatus", kNames), "status") << "too many";
  EXPECT_EQ(NearestName("stafus", kNames), "status") << "replaced";
  EXPECT_EQ(NearestName("statsu", kNames), "status") << "exchanged";
  EXPECT_EQ(NearestName("STATUS", kNames), "status") << "case";
}

TEST(NearestNameTest, ATranspositionIsOneError) {
  EXPECT_EQ(NearestName("ba", {"ab"}), "ab");
  EXPECT_EQ(NearestName("ba", {"cd", "ab"}), "ab");
}

TEST(NearestNameTest, LongerWordsMayHaveMoreErrors) {
  EXPECT_EQ(NearestName("lerning_raet", kNames), "learning_rate");
  EXPECT_EQ(NearestName("learn_rat", kNames), "");
}

TEST(NearestNameTest, AShortWordMayHaveOneErrorOnly) {
  EXPECT_EQ(NearestName("adan", kNames), "adam");
  EXPECT_EQ(NearestName("tcsh", {"bash", "zsh", "fish"}), "");
  EXPECT_EQ(NearestName("nope", {"top"}), "");
  EXPECT_EQ(NearestName("nopes", {"topes"}), "topes");
  EXPECT_EQ(NearestName("class", {"loss"}), "");
}

TEST(NearestNameTest, ALongWordWithAnotherWordInItIsNotMeant) {
  EXPECT_EQ(NearestName("validation_split", {"validation_choice"}), "");
  EXPECT_EQ(NearestName("validation_chioec", {"validation_choice"}), "validation_choice");
}

TEST(NearestNameTest, DistantNamesHaveNoMatch) {
  EXPECT_EQ(NearestName("evaluate", kNames), "");
  EXPECT_EQ(NearestName("", kNames), "");
  EXPECT_EQ(NearestName("x", kNames), "") << "every character replaced";
  EXPECT_EQ(NearestName(std::string(10000, 'a'), kNames), "");
  EXPECT_EQ(NearestName("status", {}), "");
}

TEST(NearestNameTest, TheFirstOfEquallyNearNamesIsTaken) {
  EXPECT_EQ(NearestName("cat", {"bat", "car"}), "bat");
}

TEST(NearestNameTest, DidYouMeanIsEmptyWithoutAMatch) {
  EXPECT_EQ(DidYouMean("job", kNames), " (did you mean jobs?)");
  EXPECT_EQ(DidYouMean("nothing", kNames), "");
}

TEST(NearestNameTest, TheTextHasTheGuessAndTheList) {
  EXPECT_EQ(KnownNamesText("sgdd", {"sgd", "adam"}), "did you mean 'sgd'? known: sgd, adam");
  EXPECT_EQ(KnownNamesText("frobnicate", {"sgd", "adam"}), "known: sgd, adam");
}

}  // namespace
}  // namespace cairn
