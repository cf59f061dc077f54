#include "worker/data/tfrecord/example_parser.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/worker/data/tfrecord/example_bytes.h"

namespace cairn::worker {
namespace {

using cairn::testing::BytesFeature;
using cairn::testing::BytesField;
using cairn::testing::ExampleBytes;
using cairn::testing::FloatsFeature;
using cairn::testing::IntsFeature;
using cairn::testing::Varint;
using ::testing::ElementsAre;
using Kind = FeatureValues::Kind;

std::vector<FeatureValues> Parse(const std::string& record, int64_t most = 9) {
  std::vector<FeatureValues> values;
  const ExampleParser parser({{"a", most}, {"b", most}});
  EXPECT_TRUE(parser.Parse(record, &values).ok());
  return values;
}

TEST(ExampleParserTest, ReadsListsOfEveryKindAndSkipsOthers) {
  const std::string record = ExampleBytes({{"z", IntsFeature({5})},
                                           {"b", FloatsFeature({1.5, -2})},
                                           {"a", IntsFeature({-1, 1ll << 40})}});
  auto values = Parse(record);
  EXPECT_THAT(values[0].ints, ElementsAre(-1, 1ll << 40));
  EXPECT_THAT(values[1].floats, ElementsAre(1.5f, -2.0f));
  const std::string bytes = ExampleBytes({{"a", BytesFeature({"x", "", "yz"})}});
  values = Parse(bytes);
  EXPECT_THAT(values[0].bytes, ElementsAre("x", "", "yz"));
  EXPECT_EQ(values[1].kind, Kind::kMissing);
  EXPECT_THAT(ExampleParser::NamesIn(record), ElementsAre("z", "b", "a"));
}

TEST(ExampleParserTest, UnpackedListsAndUnknownFieldsAreRead) {
  // int64 list with field 1 as single varints, and fields of other numbers and wire types.
  const std::string list = Varint(8) + Varint(7) + Varint(5 * 8) + Varint(3) + Varint(8) +
                           Varint(9) + Varint(6 * 8 + 5) + "abcd" + Varint(7 * 8 + 1) + "abcdefgh";
  const auto values = Parse(ExampleBytes({{"a", BytesField(3, list)}}));
  EXPECT_THAT(values[0].ints, ElementsAre(7, 9));
}

TEST(ExampleParserTest, TheLastFeatureOfANameAndItsLastKindCount) {
  const auto values = Parse(ExampleBytes({{"a", IntsFeature({1})},
                                          {"a", FloatsFeature({2}) + IntsFeature({3})},
                                          {"b", IntsFeature({1}) + IntsFeature({2})}}));
  EXPECT_EQ(values[0].kind, Kind::kInts);
  EXPECT_THAT(values[0].ints, ElementsAre(3));
  EXPECT_THAT(values[1].ints, ElementsAre(1, 2));
}

TEST(ExampleParserTest, FeaturesMayHaveTheSameName) {
  std::vector<FeatureValues> values;
  const ExampleParser parser({{"a", 1}, {"a", 2}});
  const std::string record = ExampleBytes({{"a", IntsFeature({1, 2, 3})}});
  EXPECT_TRUE(parser.Parse(record, &values).ok());
  EXPECT_THAT(values[0].ints, ElementsAre(1));
  EXPECT_THAT(values[1].ints, ElementsAre(1, 2));
}

TEST(ExampleParserTest, NoMoreValuesAreStoredThanWanted) {
  const auto values = Parse(ExampleBytes({{"a", IntsFeature({1, 2, 3, 4})}}), 2);
  EXPECT_EQ(values[0].count, 4);
  EXPECT_THAT(values[0].ints, ElementsAre(1, 2));
}

TEST(ExampleParserTest, CutAndForeignBytesAreRefused) {
  const std::string record = ExampleBytes({{"a", FloatsFeature({1, 2})}});
  const ExampleParser parser({{"a", 9}});
  std::vector<FeatureValues> values;
  for (size_t size = 1; size < record.size(); ++size) {
    EXPECT_FALSE(parser.Parse(record.substr(0, size), &values).ok()) << size;
  }
  EXPECT_FALSE(parser.Parse("{\"a\": 1}", &values).ok());
  // A group, field 0, and floats of 3 bytes.
  EXPECT_FALSE(parser.Parse("\x0b", &values).ok());
  EXPECT_FALSE(parser.Parse(std::string("\0\0", 2), &values).ok());
  EXPECT_FALSE(
      parser.Parse(ExampleBytes({{"a", BytesField(2, BytesField(1, "abc"))}}), &values).ok());
}

}  // namespace
}  // namespace cairn::worker
