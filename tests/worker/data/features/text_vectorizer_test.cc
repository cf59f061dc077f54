#include "worker/data/features/text_vectorizer.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn::worker {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Tokens(std::string_view text, const char* standardize = "",
                                const char* split = "") {
  proto::TextVectorization spec;
  spec.set_standardize(standardize);
  spec.set_split(split);
  std::string scratch;
  std::vector<std::string_view> tokens;
  TextVectorizer(spec).Split(text, &scratch, &tokens);
  return {tokens.begin(), tokens.end()};
}

// The expected tokens are those of Keras 3.15 with TensorFlow 2.21.
TEST(TextVectorizerTest, TextsAreDividedAsByKeras) {
  EXPECT_THAT(Tokens("Été, the  cat!  sat\ton the mat.\n"),
              ElementsAre("Été", "the", "cat", "sat", "on", "the", "mat"));
  EXPECT_THAT(Tokens("x_y don't \u00a0nbsp\u2003em é É"),
              ElementsAre("xy", "dont", "\u00a0nbsp\u2003em", "é", "É"));
  EXPECT_THAT(Tokens("a\x0b"
                     "b\x0c"
                     "c\x1c"
                     "d"),
              ElementsAre("a", "b",
                          "c\x1c"
                          "d"));
  EXPECT_THAT(Tokens(" -- "), ElementsAre());
  EXPECT_THAT(Tokens("The Cat!", "lower"), ElementsAre("the", "cat!"));
  EXPECT_THAT(Tokens("The Cat!", "strip_punctuation"), ElementsAre("The", "Cat"));
  EXPECT_THAT(Tokens("The Cat!", "none"), ElementsAre("The", "Cat!"));
  EXPECT_THAT(Tokens("Zé a", "", "character"), ElementsAre("z", "é", " ", "a"));
  EXPECT_THAT(Tokens("a b", "", "none"), ElementsAre("a b"));
  EXPECT_THAT(Tokens("\xc3", "", "character"), ElementsAre("\xc3"));
}

// "token count" of each, sorted.
std::vector<std::string> CountsOf(const TokenCounts& counts) {
  proto::DataFindings::Column column;
  counts.AddTo(&column);
  std::vector<std::string> texts;
  for (const auto& token : column.tokens()) {
    texts.push_back(token.token() + " " + std::to_string(token.count()));
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

TEST(TextVectorizerTest, TokensOfAllTextsAreCounted) {
  TokenCounts counts{proto::TextVectorization()};
  counts.AddText("Été, the  cat!  sat\ton the mat.\n");
  TokenCounts more{proto::TextVectorization()};
  more.AddText("The dog; the CAT -- b a c");
  counts.Add(more);
  EXPECT_THAT(CountsOf(counts), ElementsAre("a 1", "b 1", "c 1", "cat 2", "dog 1", "mat 1", "on 1",
                                            "sat 1", "the 4", "Été 1"));
  EXPECT_EQ(counts.bytes(), 25u + 10 * 4);
}

TEST(TextVectorizerTest, TokensOfFixedIdsAreNotCounted) {
  proto::TextVectorization spec;
  spec.set_standardize("none");
  TokenCounts counts(spec);
  counts.AddText("[UNK] a [UNK]");
  EXPECT_THAT(CountsOf(counts), ElementsAre("a 1"));
}

}  // namespace
}  // namespace cairn::worker
