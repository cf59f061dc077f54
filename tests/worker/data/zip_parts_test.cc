#include "worker/data/zip_parts.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/nn/test_model.h"
#include "tests/worker/data/data_files.h"
#include "worker/data/source_arrays.h"

namespace cairn::worker {
namespace {

using cairn::testing::NpyBytes;
using cairn::testing::Raw;
using cairn::testing::WriteDataFile;
using ::testing::ElementsAre;

// A model with so many inputs of one number.
std::unique_ptr<nn::Model> ModelOf(int inputs) {
  std::vector<nn::testing::TestLayer> layers;
  std::vector<std::string> names;
  for (int i = 0; i < inputs; ++i) {
    names.push_back("in" + std::to_string(i));
    layers.push_back({names.back(), "InputLayer", R"({"batch_shape": [null, 1]})"});
  }
  layers.push_back({"sum", "Add", "{}", names});
  return nn::testing::ModelOf(layers);
}

// The source of input `input`, whose records are the numbers 0, 1 ... Those in `damaged` are not in
// the dataset.
ZippedPart PartOf(int input, int64_t records, const std::set<int64_t>& damaged) {
  std::vector<float> sound;
  proto::DamagedRecords skipped;
  for (int64_t i = 0; i < records; ++i) {
    if (damaged.count(i) == 0) {
      sound.push_back(static_cast<float>(i));
    } else {
      skipped.add_places(i);
    }
  }
  skipped.set_count(skipped.places_size());
  proto::DataSource source;
  source.mutable_npy()->add_features(
      WriteDataFile("zip" + std::to_string(input) + ".npy",
                    NpyBytes("<f4", "(" + std::to_string(sound.size()) + ", 1)", Raw(sound))));
  const auto model = ModelOf(2);
  const nn::Signature one = nn::Signature(*model).Part({0}, {});
  DataStorage storage({});
  auto files = ListFiles(source, one, false);
  EXPECT_TRUE(files.ok()) << files.status();
  const std::vector<LabelSpec> none;
  auto arrays = ReadSource({source, *files, {}, one, none, &storage});
  EXPECT_TRUE(arrays.ok()) << arrays.status();
  auto dataset = Dataset::CreateInputs(*std::move(arrays), source, {}, one);
  EXPECT_TRUE(dataset.ok()) << dataset.status();
  return {{*std::move(dataset), {input}, {}}, skipped};
}

std::vector<float> InputOf(const Dataset& data, int input) {
  std::vector<int64_t> indices(data.examples());
  std::iota(indices.begin(), indices.end(), 0);
  std::vector<float> values(indices.size());
  EXPECT_TRUE(data.ReadInput(input, indices, values.data()).ok());
  return values;
}

TEST(ZipPartsTest, AnExampleThatIsDamagedInOneSourceIsLeftOutInAll) {
  const auto data = ZipParts({PartOf(1, 7, {0, 3}), PartOf(0, 7, {3, 6})});
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->examples(), 4);
  EXPECT_THAT(InputOf(*data, 0), ElementsAre(1, 2, 4, 5));
  EXPECT_THAT(InputOf(*data, 1), ElementsAre(1, 2, 4, 5));
}

// Against lists from which the damaged numbers are removed.
TEST(ZipPartsTest, ExamplesStayTogetherWhateverIsDamaged) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    const int64_t records = 1 + static_cast<int64_t>(random() % 12);
    std::vector<std::set<int64_t>> damaged(3);
    std::vector<float> expected;
    for (int64_t i = 0; i < records; ++i) {
      bool is_sound = true;
      for (auto& each : damaged) {
        if (random() % 4 != 0 || static_cast<int64_t>(each.size()) + 1 == records) continue;
        each.insert(i);
        is_sound = false;
      }
      if (is_sound) expected.push_back(static_cast<float>(i));
    }
    const auto data = ZipParts({PartOf(0, records, damaged[0]), PartOf(1, records, damaged[1]),
                                PartOf(2, records, damaged[2])});
    if (expected.empty()) {
      EXPECT_EQ(data.status().message(),
                "no example is left: each is damaged in one of the zipped sources");
      continue;
    }
    ASSERT_TRUE(data.ok()) << data.status();
    for (int input = 0; input < 3; ++input) EXPECT_EQ(InputOf(*data, input), expected);
  }
}

TEST(ZipPartsTest, SourcesOfDifferentLengthsAreRefused) {
  EXPECT_EQ(ZipParts({PartOf(0, 7, {}), PartOf(1, 5, {2})}).status().message(),
            "zip[1]: it has 5 examples, zip[0] has 7; each example has a part in every source. If "
            "the first ones belong together, set {\"take\": 5} in the pipeline of the longer "
            "source");
}

TEST(ZipPartsTest, PlacesThatAreNoneOfTheRecordsAreRefused) {
  for (const std::vector<int64_t>& places :
       std::vector<std::vector<int64_t>>{{-1, 2}, {2, 5}, {3, 3}, {3, 2}}) {
    ZippedPart forged = PartOf(1, 5, {2, 3});
    forged.damaged.mutable_places()->Assign(places.begin(), places.end());
    EXPECT_EQ(ZipParts({PartOf(0, 5, {}), forged}).status().message(),
              "zip[1]: the plan has damaged records that are none of its 5 records; submit the job "
              "again");
  }
}

TEST(ZipPartsTest, RowsOfAnUnreadableFileAreNotGuessed) {
  ZippedPart unknown = PartOf(1, 5, {2});
  unknown.damaged.clear_places();
  unknown.damaged.set_first_error("data file b.parquet: no metadata");
  EXPECT_EQ(ZipParts({PartOf(0, 5, {}), unknown}).status().message(),
            "zip[1]: nobody knows how many rows a damaged file has, and so which examples of the "
            "other sources lack them; mend or remove the file: data file b.parquet: no metadata");
}

}  // namespace
}  // namespace cairn::worker
