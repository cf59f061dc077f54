#include "worker/data/csv/csv_encoder.h"

#include <google/protobuf/util/json_util.h>

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/nn/test_model.h"
#include "tests/worker/data/data_files.h"

namespace cairn::worker {
namespace {

using cairn::testing::WriteDataFile;
using ::testing::EndsWith;

template <typename Message>
Message MessageOf(const std::string& json) {
  Message message;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &message).ok()) << json;
  return message;
}

// An id and a vector of `wide` numbers in.
std::unique_ptr<nn::Model> MixedModel(int wide) {
  return nn::testing::ModelOf(
      {{"id", "InputLayer", R"({"batch_shape": [null, 1], "dtype": "int32"})"},
       {"wide", "InputLayer", R"({"batch_shape": [null, )" + std::to_string(wide) + "]}"},
       {"table", "Embedding", R"({"input_dim": 5, "output_dim": 2})", {"id"}},
       {"deep", "Flatten", "{}", {"table"}},
       {"both", "Concatenate", "{}", {"deep", "wide"}},
       {"out", "Dense", R"({"units": 1})", {"both"}}});
}

std::vector<std::vector<double>> RowsOf(const Array& array) {
  std::vector<std::vector<double>> rows;
  EXPECT_TRUE(array
                  .ForEachRow([&](int64_t, const char* bytes) {
                    rows.emplace_back(array.elements());
                    array.RowToDoubles(bytes, rows.back().data());
                    return absl::OkStatus();
                  })
                  .ok());
  return rows;
}

using Rows = std::vector<std::vector<double>>;

constexpr char kMixed[] = R"({
  "features": [{"name": "user", "vocabulary": ["ann", "bob"], "unknown": true, "input": "id"},
               {"name": "age", "missing": {"name": "mean"}, "input": "wide"},
               {"name": "city", "categorical": true, "one_hot": true, "input": "wide"}],
  "labels": [{"name": "y"}]})";
constexpr char kPlan[] = R"({
  "vocabularies": [{"column": "city", "names": ["QmVybg==", "Um9t"]}],
  "fills": [{"column": "age", "value": 15}]})";  // "Bern" and "Rom" in base64.

TEST(CsvEncoderTest, ColumnsBecomeTheirInputsRows) {
  const auto model = MixedModel(3);
  const CsvEncoder encoder(MessageOf<proto::CsvSource>(kMixed), MessageOf<proto::DataPlan>(kPlan),
                           *model, {proto::FLOAT32});
  DataStorage storage({});
  const auto arrays =
      encoder.ReadFile(WriteDataFile("m.csv", "y,city,age,user\n0.5,Rom,7,bob\n1,Bern,,eve\n"),
                       /*threads=*/1, &storage);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  EXPECT_EQ(arrays->inputs[0].ToString(), "int32 (2, 1)");
  EXPECT_EQ(RowsOf(arrays->inputs[0]), (Rows{{1}, {2}}));
  EXPECT_EQ(arrays->inputs[1].ToString(), "float32 (2, 3)");
  EXPECT_EQ(RowsOf(arrays->inputs[1]), (Rows{{7, 0, 1}, {15, 1, 0}}));
  EXPECT_EQ(arrays->labels[0].ToString(), "float32 (2,)");
  EXPECT_EQ(RowsOf(arrays->labels[0]), (Rows{{0.5}, {1}}));
}

TEST(CsvEncoderTest, LabelsGoToTheirOutputs) {
  const auto model = nn::testing::ModelOf({{"x", "InputLayer", R"({"batch_shape": [null, 1]})"},
                                           {"kind", "Dense", R"({"units": 2})", {"x"}},
                                           {"size", "Dense", R"({"units": 2})", {"x"}}},
                                          {"kind", "size"});
  const CsvEncoder encoder(MessageOf<proto::CsvSource>(R"({
        "features": [{"name": "x"}],
        "labels": [{"name": "w", "output": "size"},
                   {"name": "k", "vocabulary": ["cat", "dog"], "output": "kind"},
                   {"name": "h", "output": "size"}]})"),
                           {}, *model, {proto::INT32, proto::FLOAT32});
  DataStorage storage({});
  const auto arrays = encoder.ReadFile(WriteDataFile("o.csv", "x,k,w,h\n1,dog,2,3\n4,cat,5,6\n"),
                                       /*threads=*/1, &storage);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  ASSERT_EQ(arrays->labels.size(), 2u);
  EXPECT_EQ(arrays->labels[0].ToString(), "int32 (2,)");
  EXPECT_EQ(RowsOf(arrays->labels[0]), (Rows{{1}, {0}}));
  EXPECT_EQ(RowsOf(arrays->labels[1]), (Rows{{2, 3}, {5, 6}}));
}

TEST(CsvEncoderTest, AsManyColumnsAsAnImageHasPixelsHaveItsShape) {
  const auto model =
      nn::testing::ModelOf({{"image", "InputLayer", R"({"batch_shape": [null, 2, 2, 1]})"},
                            {"flat", "Flatten", "{}"},
                            {"out", "Dense", R"({"units": 1})"}});
  const CsvEncoder encoder(MessageOf<proto::CsvSource>(R"({
    "features": [{"name": "0"}, {"name": "1"}, {"name": "2"}, {"name": "3"}],
    "labels": [{"name": "4"}], "header": false})"),
                           {}, *model, {proto::INT32});
  DataStorage storage({});
  const auto arrays =
      encoder.ReadFile(WriteDataFile("i.csv", "1,2,3,4,9\n"), /*threads=*/1, &storage);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  EXPECT_EQ(arrays->inputs[0].row_shape(), (nn::Shape{2, 2, 1}));
  EXPECT_EQ(RowsOf(arrays->inputs[0]), (Rows{{1, 2, 3, 4}}));
  EXPECT_EQ(arrays->labels[0].ToString(), "int32 (1,)");
}

TEST(CsvEncoderTest, SeveralThreadsMakeTheSameRows) {
  std::string text = "y,city,age,user\n";
  Rows expected;
  while (text.size() < (size_t{3} << 20)) {
    const auto row = static_cast<double>(expected.size());
    text += "0,Rom," + std::to_string(expected.size()) + ".5,bob\n";
    expected.push_back({row + 0.5, 0, 1});
  }
  const std::string path = WriteDataFile("large.csv", text);
  const auto model = MixedModel(3);
  const CsvEncoder encoder(MessageOf<proto::CsvSource>(kMixed), MessageOf<proto::DataPlan>(kPlan),
                           *model, {proto::FLOAT32});
  for (const int threads : {1, 3}) {
    DataStorage storage({});
    const auto arrays = encoder.ReadFile(path, threads, &storage);
    ASSERT_TRUE(arrays.ok()) << arrays.status();
    EXPECT_EQ(arrays->labels[0].rows(), static_cast<int64_t>(expected.size()));
    EXPECT_TRUE(RowsOf(arrays->inputs[1]) == expected) << threads;
  }
}

// The text is 18 KB, its numbers are 12 MB.
TEST(CsvEncoderTest, WideRowsAreMadeOfSmallBlocks) {
  constexpr int kNames = 1000;
  constexpr int kRows = 3000;
  auto source = MessageOf<proto::CsvSource>(
      R"({"features": [{"name": "x", "one_hot": true}], "labels": [{"name": "y"}]})");
  for (int i = 0; i < kNames; ++i) {
    source.mutable_features(0)->add_vocabulary(std::to_string(i));
  }
  const auto model = nn::testing::ModelOf({{"in", "InputLayer", R"({"batch_shape": [null, 1000]})"},
                                           {"out", "Dense", R"({"units": 1})"}});
  const CsvEncoder encoder(source, {}, *model, {proto::FLOAT32});
  EXPECT_LE(encoder.block_bytes() / 2 * (kNames + 1) * 4, size_t{4} << 20);
  std::string text = "x,y\n";
  for (int i = 0; i < kRows; ++i) text += std::to_string(i % kNames) + ",1\n";
  EXPECT_GT(text.size(), 5 * encoder.block_bytes());
  const std::string path = WriteDataFile("wide.csv", text);
  for (const int threads : {1, 3}) {
    DataStorage storage({});
    const auto arrays = encoder.ReadFile(path, threads, &storage);
    ASSERT_TRUE(arrays.ok()) << arrays.status();
    const Rows rows = RowsOf(arrays->inputs[0]);
    ASSERT_EQ(rows.size(), static_cast<size_t>(kRows));
    for (int i = 0; i < kRows; ++i) {
      std::vector<double> expected(kNames);
      expected[i % kNames] = 1;
      ASSERT_EQ(rows[i], expected) << "row " << i;
    }
  }
}

TEST(CsvEncoderTest, NarrowRowsAreMadeOfLargeBlocks) {
  const auto model = nn::testing::ModelOf(
      {{"in", "InputLayer", R"({"batch_shape": [null, 1]})"}, {"out", "Dense", R"({"units": 1})"}});
  const CsvEncoder encoder(
      MessageOf<proto::CsvSource>(R"({"features": [{"name": "x"}], "labels": [{"name": "y"}]})"),
      {}, *model, {proto::FLOAT32});
  EXPECT_EQ(encoder.block_bytes(), size_t{1} << 20);
}

// Also those that look like numbers.
TEST(CsvEncoderTest, TextsThatStandForMissingValuesAreNoNumbers) {
  proto::CsvSource source = MessageOf<proto::CsvSource>(kMixed);
  for (const char* text : {"-999", "NA"}) source.add_missing(text);
  const auto model = MixedModel(3);
  const CsvEncoder encoder(source, MessageOf<proto::DataPlan>(kPlan), *model, {proto::FLOAT32});
  DataStorage storage({});
  const auto arrays = encoder.ReadFile(
      WriteDataFile("na.csv", "y,city,age,user\n1,Rom,-999,bob\n1,Rom,NA,bob\n1,Rom,-99,bob\n"),
      /*threads=*/1, &storage);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  EXPECT_EQ(RowsOf(arrays->inputs[1]), (Rows{{15, 0, 1}, {15, 0, 1}, {-99, 0, 1}}));
}

TEST(CsvEncoderTest, EveryBadFieldIsNamedWithLineColumnValueAndFix) {
  const auto model = MixedModel(3);
  const std::pair<std::string, std::string> cases[] = {
      {"1,Rom,x,ann", R"(column "age": "x" is not a number; of names say "categorical": true)"},
      {"1,Rom,1e39,ann", R"(column "age": "1e39" is too large for a float32)"},
      {",Rom,1,ann",
       R"(column "y": "" is a missing value; say what it becomes: "missing": {"value": 0} or )"
       R"("mean")"},
      {"1,Paris,1,ann",
       R"(column "city": "Paris" is not among the vocabulary's 2 names; add it, or say )"
       R"("unknown": true)"},
      {"1,Rom,1,",
       R"(column "user": "" is a missing value; say what it becomes: "missing": "NAME")"},
  };
  for (const auto& [row, message] : cases) {
    const CsvEncoder encoder(MessageOf<proto::CsvSource>(kMixed), MessageOf<proto::DataPlan>(kPlan),
                             *model, {proto::FLOAT32});
    DataStorage storage({});
    const auto arrays =
        encoder.ReadFile(WriteDataFile("bad.csv", "y,city,age,user\n1,Rom,1,ann\n" + row + "\n"),
                         /*threads=*/1, &storage);
    EXPECT_THAT(std::string(arrays.status().message()), EndsWith("/bad.csv: line 3, " + message));
  }
}

TEST(CsvEncoderTest, WholeNumbersMustBeSo) {
  const auto model = nn::testing::ModelOf(
      {{"in", "InputLayer", R"({"batch_shape": [null, 1]})"}, {"out", "Dense", R"({"units": 2})"}});
  const CsvEncoder encoder(
      MessageOf<proto::CsvSource>(R"({"features": [{"name": "x"}], "labels": [{"name": "y"}]})"),
      {}, *model, {proto::INT32});
  DataStorage storage({});
  for (const char* label : {"1.5", "3e9", "nan"}) {
    const auto arrays = encoder.ReadFile(
        WriteDataFile("w.csv", "x,y\n1," + std::string(label) + "\n"), /*threads=*/1, &storage);
    EXPECT_THAT(std::string(arrays.status().message()),
                EndsWith("line 2, column \"y\": \"" + std::string(label) +
                         "\" is not a whole number of 32 bits"));
  }
  const auto good =
      encoder.ReadFile(WriteDataFile("w.csv", "x,y\n1,1.0\n"), /*threads=*/1, &storage);
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(RowsOf(good->labels[0]), (Rows{{1}}));
}

}  // namespace
}  // namespace cairn::worker
