#include "worker/data/source_arrays.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "job/data_source.h"
#include "nn/formats/zip_archive.h"
#include "tests/nn/test_model.h"
#include "tests/worker/data/data_files.h"
#include "tests/worker/data/tfrecord/example_bytes.h"

namespace cairn::worker {
namespace {

using cairn::testing::Gzip;
using cairn::testing::IdxBytes;
using cairn::testing::NpyBytes;
using cairn::testing::Raw;
using cairn::testing::WriteDataFile;
using ::testing::HasSubstr;

std::unique_ptr<nn::Model> Model() {
  return nn::testing::ModelOf(
      {{"in", "InputLayer", R"({"batch_shape": [null, 2]})"}, {"out", "Dense", R"({"units": 3})"}});
}

absl::StatusOr<SourceArrays> Read(const proto::DataSource& source,
                                  const DataStorage::Options& options = {},
                                  const nn::Model& model = *Model()) {
  const auto files = ListFiles(source, model);
  if (!files.ok()) return files.status();
  DataStorage storage(options);
  const proto::DataPlan plan;
  const std::vector<LabelSpec> label_specs = {{.type = proto::INT32}};
  return ReadSource({source, *files, plan, model, label_specs, &storage});
}

std::vector<float> ValuesOf(const Array& array) {
  std::vector<float> values(array.rows() * array.elements());
  EXPECT_TRUE(array
                  .ForEachRow([&](int64_t row, const char* bytes) {
                    array.RowToFloats(bytes, 1, values.data() + row * array.elements());
                    return absl::OkStatus();
                  })
                  .ok());
  return values;
}

// The rows (1, 2), (3, 4), (5, 6) with labels 2, 0, 1, in two files of each format.
std::vector<proto::DataSource> ThreeRows() {
  std::vector<proto::DataSource> sources(5);
  auto& idx = *sources[0].mutable_idx();
  WriteDataFile("rows_x1.idx", IdxBytes(8, {2, 2}, "\1\2\3\4"));
  WriteDataFile("rows_x2.idx", Gzip(IdxBytes(8, {1, 2}, "\5\6")));
  idx.add_features(::testing::TempDir() + "/rows_x?.idx");
  idx.add_labels(WriteDataFile("y1.idx", IdxBytes(8, {1}, "\2")));
  idx.add_labels(WriteDataFile("y2.idx", IdxBytes(8, {2}, std::string("\0\1", 2))));
  auto& npy = *sources[1].mutable_npy();
  npy.add_features(WriteDataFile("1.npy", NpyBytes("<f8", "(1, 2)", Raw<double>({1, 2}))));
  npy.add_features(WriteDataFile("2.npy", NpyBytes("<f8", "(2, 2)", Raw<double>({3, 4, 5, 6}))));
  npy.add_labels(WriteDataFile("y.npy", NpyBytes("<i8", "(3,)", Raw<int64_t>({2, 0, 1}))));
  auto& csv = *sources[2].mutable_csv();
  csv.add_files(WriteDataFile("1.csv", "a,b,y\r\n1,2,2\r\n3,4,0\r\n"));
  csv.add_files(WriteDataFile("2.csv.gz", Gzip("y,b,a\n1,6,5\n")));
  csv.add_labels()->set_name("y");
  auto& tfrecord = *sources[3].mutable_tfrecord();
  const auto record = [](float a, float b, int64_t y) {
    using namespace cairn::testing;  // NOLINT
    return RecordBytes(ExampleBytes({{"x", FloatsFeature({a, b})}, {"y", IntsFeature({y})}}));
  };
  tfrecord.add_files(WriteDataFile("1.tfrecord", record(1, 2, 2)));
  tfrecord.add_files(WriteDataFile("2.tfrecord", Gzip(record(3, 4, 0) + record(5, 6, 1))));
  tfrecord.add_features()->set_name("x");
  tfrecord.add_labels()->set_name("y");
  auto& npz = *sources[4].mutable_npz();
  npz.add_files(WriteDataFile(
      "1.npz", *nn::WriteZip({{"y.npy", NpyBytes("<i8", "(1,)", Raw<int64_t>({2}))},
                              {"x.npy", NpyBytes("<f8", "(1, 2)", Raw<double>({1, 2}))}})));
  npz.add_files(WriteDataFile(
      "2.npz", *nn::WriteZip({{"y.npy", NpyBytes("<i8", "(2,)", Raw<int64_t>({0, 1}))},
                              {"x.npy", NpyBytes("<f8", "(2, 2)", Raw<double>({3, 4, 5, 6}))}})));
  npz.add_features("x");
  npz.add_labels("y");
  return sources;
}

TEST(SourceArraysTest, FilesOfAllFormatsFollowEachOtherInMemoryAndOnDisk) {
  for (const proto::DataSource& source : ThreeRows()) {
    for (const uint64_t memory : {uint64_t{0}, uint64_t{1} << 20}) {
      const auto arrays = Read(source, {.memory_bytes = memory});
      ASSERT_TRUE(arrays.ok()) << arrays.status();
      ASSERT_EQ(arrays->inputs.size(), 1u);
      EXPECT_EQ(ValuesOf(arrays->inputs[0]), (std::vector<float>{1, 2, 3, 4, 5, 6}));
      EXPECT_EQ(ValuesOf(arrays->labels[0]), (std::vector<float>{2, 0, 1}));
      EXPECT_EQ(arrays->inputs[0].in_memory(), memory > 0);
    }
  }
}

// A source with the columns of ThreeRows has the labels 2, 0, 1.
std::string LabelIn(const proto::DataSource& source) {
  return job::FormatOf(source)->filters == job::RowFilters::kArrays ? "label" : "y";
}

TEST(SourceArraysTest, PipelinesOfEveryFormatChooseRowsAcrossFiles) {
  for (proto::DataSource& source : ThreeRows()) {
    source.add_pipeline()->set_filter(LabelIn(source) + " in (0, 1)");
    auto arrays = Read(source);
    ASSERT_TRUE(arrays.ok()) << arrays.status();
    EXPECT_EQ(ValuesOf(arrays->inputs[0]), (std::vector<float>{3, 4, 5, 6}));
    EXPECT_EQ(ValuesOf(arrays->labels[0]), (std::vector<float>{0, 1}));
    source.add_pipeline()->set_skip(1);
    arrays = Read(source);
    ASSERT_TRUE(arrays.ok()) << arrays.status();
    EXPECT_EQ(ValuesOf(arrays->inputs[0]), (std::vector<float>{5, 6}));
    EXPECT_EQ(ValuesOf(arrays->labels[0]), (std::vector<float>{1}));
    auto& shard = *source.mutable_pipeline(0)->mutable_shard();
    shard.set_num_shards(2);
    shard.set_index(0);
    arrays = Read(source);
    ASSERT_TRUE(arrays.ok()) << arrays.status();
    EXPECT_EQ(ValuesOf(arrays->inputs[0]), (std::vector<float>{5, 6}));
    // The filter counts among the rows behind the first one.
    source.mutable_pipeline(0)->set_skip(1);
    source.mutable_pipeline(1)->set_filter(LabelIn(source) + " > 0");
    arrays = Read(source);
    ASSERT_TRUE(arrays.ok()) << arrays.status();
    EXPECT_EQ(ValuesOf(arrays->inputs[0]), (std::vector<float>{5, 6}));
    EXPECT_EQ(ValuesOf(arrays->labels[0]), (std::vector<float>{1}));
    source.mutable_pipeline(0)->set_filter(LabelIn(source) + " > 7");
    EXPECT_THAT(Read(source).status().message(),
                HasSubstr("no row is left for which \"filter\" is true"));
  }
}

TEST(SourceArraysTest, ColumnsOfArraysAreTheirElements) {
  proto::DataSource source = ThreeRows()[1];
  source.add_pipeline();
  const auto kept = [&source](const std::string& filter) -> std::string {
    source.mutable_pipeline(0)->set_filter(filter);
    const auto arrays = Read(source);
    if (!arrays.ok()) return std::string(arrays.status().message());
    std::string text;
    for (const float value : ValuesOf(arrays->labels[0])) text += std::to_string(int(value));
    return text;
  };
  EXPECT_EQ(kept("feature_0 > 1 and feature_1 < 6"), "0");
  EXPECT_EQ(kept("feature_1 = 2 or label = 1"), "21");
  EXPECT_EQ(kept("feature_2 = 1"),
            "filter: column \"feature_2\" does not exist: the examples have 2 features");
  EXPECT_EQ(kept("age = 1"), "filter: column \"age\" is none of label, feature_0, feature_1 ...");
  EXPECT_EQ(
      kept("label = 'a'"),
      "filter: column \"label\" has numbers, which cannot be compared with 'a'; leave out the "
      "quotes");
}

TEST(SourceArraysTest, LargeIntegersOfArraysAreComparedExactly) {
  proto::DataSource source;
  source.mutable_npy()->add_features(WriteDataFile(
      "big.npy",
      NpyBytes("<i8", "(3, 2)", Raw<int64_t>({9007199254740993, 0, 9007199254740992, 1, -1, 2}))));
  source.mutable_npy()->add_labels(
      WriteDataFile("unsigned.npy", NpyBytes("<u8", "(3,)", Raw<uint64_t>({1, 1, ~uint64_t{0}}))));
  const auto kept = [&source](const std::string& filter) {
    source.mutable_pipeline()->Clear();
    source.add_pipeline()->set_filter(filter);
    const auto arrays = Read(source);
    EXPECT_TRUE(arrays.ok()) << arrays.status();
    std::vector<float> second;
    const std::vector<float> values = ValuesOf(arrays->inputs[0]);
    for (size_t i = 1; i < values.size(); i += 2) second.push_back(values[i]);
    return second;
  };
  EXPECT_EQ(kept("feature_0 = 9007199254740993"), (std::vector<float>{0}));
  EXPECT_EQ(kept("feature_0 < 9007199254740993 and feature_1 > 0"), (std::vector<float>{1, 2}));
  EXPECT_EQ(kept("label > 9223372036854775807"), (std::vector<float>{2}));
}

TEST(SourceArraysTest, WindowsOfEveryFormatHaveTheLabelOfOneOfTheirRows) {
  const auto model = nn::testing::ModelOf({{"in", "InputLayer", R"({"batch_shape": [null, 2, 2]})"},
                                           {"flat", "Flatten", "{}"},
                                           {"out", "Dense", R"({"units": 3})"}});
  for (proto::DataSource& source : ThreeRows()) {
    source.add_sample_weight(
        WriteDataFile("w.npy", NpyBytes("<f4", "(3,)", Raw<float>({2, 0, 5}))));
    auto& window = *source.add_pipeline()->mutable_window();
    window.set_size(2);
    window.set_shift(1);
    auto arrays = Read(source, {}, *model);
    ASSERT_TRUE(arrays.ok()) << arrays.status();
    EXPECT_EQ(arrays->inputs[0].row_shape(), (nn::Shape{2, 2}));
    EXPECT_EQ(ValuesOf(arrays->inputs[0]), (std::vector<float>{1, 2, 3, 4, 3, 4, 5, 6}));
    EXPECT_EQ(ValuesOf(arrays->labels[0]), (std::vector<float>{0, 1}));
    EXPECT_EQ(ValuesOf(*arrays->weights), (std::vector<float>{0, 5}));
    window.set_size(1);
    const auto single =
        nn::testing::ModelOf({{"in", "InputLayer", R"({"batch_shape": [null, 1, 2]})"},
                              {"flat", "Flatten", "{}"},
                              {"out", "Dense", R"({"units": 3})"}});
    arrays = Read(source, {}, *single);
    ASSERT_TRUE(arrays.ok()) << arrays.status();
    EXPECT_EQ(arrays->inputs[0].row_shape(), (nn::Shape{1, 2}));
    EXPECT_EQ(ValuesOf(arrays->inputs[0]), (std::vector<float>{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(ValuesOf(arrays->labels[0]), (std::vector<float>{2, 0, 1}));
    window.set_size(2);
    window.set_label_offset(2);
    arrays = Read(source, {}, *model);
    ASSERT_TRUE(arrays.ok()) << arrays.status();
    EXPECT_EQ(ValuesOf(arrays->inputs[0]), (std::vector<float>{1, 2, 3, 4}));
    EXPECT_EQ(ValuesOf(arrays->labels[0]), (std::vector<float>{1}));
  }
}

TEST(SourceArraysTest, RowsOfEveryFormatAreChosenAcrossFiles) {
  for (proto::DataSource& source : ThreeRows()) {
    source.add_sample_weight(
        WriteDataFile("w.npy", NpyBytes("<f4", "(3,)", Raw<float>({2, 0, 5}))));
    source.add_rows(0);
    source.add_rows(2);
    auto arrays = Read(source);
    ASSERT_TRUE(arrays.ok()) << arrays.status();
    EXPECT_EQ(ValuesOf(arrays->inputs[0]), (std::vector<float>{1, 2, 3, 4}));
    EXPECT_EQ(ValuesOf(arrays->labels[0]), (std::vector<float>{2, 0}));
    EXPECT_EQ(ValuesOf(*arrays->weights), (std::vector<float>{2, 0}));
    source.set_rows(0, 2);
    source.set_rows(1, 3);
    arrays = Read(source);
    ASSERT_TRUE(arrays.ok()) << arrays.status();
    EXPECT_EQ(ValuesOf(arrays->inputs[0]), (std::vector<float>{5, 6}));
    source.set_rows(1, 4);
    EXPECT_EQ(Read(source).status().message(),
              "\"rows\": [2, 4] are not among the 3 rows of the data; the end is at most 3");
  }
}

TEST(SourceArraysTest, WeightsFollowEachOtherBesideEveryFormat) {
  for (proto::DataSource& source : ThreeRows()) {
    source.add_sample_weight(WriteDataFile("w1.npy", NpyBytes("<f4", "(1,)", Raw<float>({2}))));
    source.add_sample_weight(WriteDataFile("w2.npy", NpyBytes("<f4", "(2,)", Raw<float>({0, 5}))));
    const auto arrays = Read(source);
    ASSERT_TRUE(arrays.ok()) << arrays.status();
    ASSERT_TRUE(arrays->weights.has_value());
    EXPECT_EQ(ValuesOf(*arrays->weights), (std::vector<float>{2, 0, 5}));
    EXPECT_EQ(ListFiles(source, *Model())->All().back(), source.sample_weight(1));
  }
}

TEST(SourceArraysTest, CifarFilesAreOneSource) {
  proto::DataSource source;
  source.mutable_cifar10()->add_files(
      WriteDataFile("c1.bin", std::string(1, '\3') + std::string(3072, 'x')));
  source.mutable_cifar10()->add_files(
      WriteDataFile("c2.bin", std::string(1, '\4') + std::string(3072, 'y')));
  const auto arrays = Read(source);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  EXPECT_EQ(arrays->inputs[0].ToString(), "uint8 (2, 32, 32, 3)");
  EXPECT_EQ(ValuesOf(arrays->labels[0]), (std::vector<float>{3, 4}));
}

TEST(SourceArraysTest, CifarWindowsWithoutLabelsMayEndAtTheLastRow) {
  proto::DataSource source;
  std::string bytes;
  for (const char label : {'\1', '\2', '\1', '\1'}) bytes += label + std::string(3072, 'x');
  source.mutable_cifar10()->add_files(WriteDataFile("windows.bin", bytes));
  auto& window = *source.add_pipeline()->mutable_window();
  window.set_size(2);
  window.set_shift(1);
  window.set_label_offset(3);
  const auto model = Model();
  const SourceFiles files = *ListFiles(source, *model);
  DataStorage storage({});
  const auto examples = [&](const std::vector<LabelSpec>& specs) {
    const auto arrays = ReadSource({source, files, {}, *model, specs, &storage});
    EXPECT_TRUE(arrays.ok()) << arrays.status();
    return arrays->inputs[0].rows();
  };
  EXPECT_EQ(examples(std::vector<LabelSpec>(1)), 1);
  EXPECT_EQ(examples({}), 3);
  // A filter finds the labels, which the examples do not have.
  source.mutable_pipeline(0)->set_filter("label = 1");
  source.add_pipeline()->mutable_window()->set_size(3);
  EXPECT_EQ(examples({}), 1);
}

// TensorFlow's CsvDataset and TextLineDataset find no lines in an empty file, and the header of an
// empty CSV file is an error there.
TEST(SourceArraysTest, AnEmptyFileOfLinesHasNoRows) {
  const std::string empty = WriteDataFile("empty.csv", "");
  proto::DataSource source;
  proto::CsvSource& csv = *source.mutable_csv();
  csv.add_files(empty);
  csv.add_files(WriteDataFile("lines1.csv", "1,2,2\n"));
  csv.add_files(WriteDataFile("empty2.csv", ""));
  csv.add_files(WriteDataFile("lines2.csv", "3,4,0\n"));
  csv.add_labels()->set_name("2");
  csv.set_header(false);
  const auto rows = Read(source);
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(ValuesOf(rows->inputs[0]), std::vector<float>({1, 2, 3, 4}));
  EXPECT_EQ(ValuesOf(rows->labels[0]), std::vector<float>({2, 0}));
  csv.set_header(true);
  EXPECT_THAT(std::string(Read(source).status().message()), HasSubstr("empty.csv: it is empty"));
  csv.set_header(false);
  csv.clear_files();
  csv.add_files(empty);
  EXPECT_THAT(std::string(Read(source).status().message()), HasSubstr("empty.csv: it is empty"));
}

TEST(SourceArraysTest, TheFirstBadFileOfManyIsNamed) {
  proto::DataSource source = ThreeRows()[1];
  for (int i = 0; i < 20; ++i) {
    const std::string name = "bad" + std::to_string(i) + ".npy";
    source.mutable_npy()->add_features(WriteDataFile(name, "no array"));
  }
  EXPECT_THAT(std::string(Read(source).status().message()), HasSubstr("/bad0.npy"));
}

TEST(SourceArraysTest, FilesThatDoNotContinueEachOtherAreNamed) {
  proto::DataSource source = ThreeRows()[1];
  source.mutable_npy()->add_features(
      WriteDataFile("3.npy", NpyBytes("<f4", "(1, 2)", Raw<float>({7, 8}))));
  EXPECT_THAT(std::string(Read(source).status().message()),
              HasSubstr("3.npy: float32 (1, 2) does not continue float64 (3, 2)"));
}

TEST(SourceArraysTest, EveryFileHasAFingerprint) {
  for (const proto::DataSource& source : ThreeRows()) {
    const auto prints = FingerprintFiles(*ListFiles(source, *Model()));
    ASSERT_TRUE(prints.ok());
    EXPECT_EQ(prints->size(), source.has_idx() ? 4u : source.has_npy() ? 3u : 2u);
  }
}

TEST(SourceArraysTest, EveryFormatHasAReader) {
  std::vector<std::string> formats;
  for (const job::DataFormat& format : job::DataFormats()) formats.push_back(format.name);
  std::vector<std::string> readers;
  for (const DataReader& reader : DataReaders()) readers.push_back(reader.name);
  EXPECT_EQ(readers, formats);
}

TEST(SourceArraysTest, ASourceWithoutFormatIsRejected) {
  EXPECT_THAT(std::string(Read({}).status().message()), HasSubstr("none of the formats idx, npy"));
}

}  // namespace
}  // namespace cairn::worker
