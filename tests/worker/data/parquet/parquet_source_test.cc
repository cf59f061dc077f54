#include "worker/data/parquet/parquet_source.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "job/data_findings.h"
#include "tests/nn/test_model.h"
#include "worker/data/files/load_file.h"
#include "worker/data/files/read_at.h"
#include "worker/data/source_arrays.h"

namespace cairn::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

const std::string kFolder = "tests/worker/data/parquet/testdata/";

class ParquetSourceTest : public ::testing::Test {
 protected:
  ParquetSourceTest()
      : model_(nn::testing::ModelOf({{"in", "InputLayer", R"({"batch_shape": [null, 1]})"},
                                     {"out", "Dense", R"({"units": 2})"}})) {}

  void SetUp() override {
    const auto found = Read(kGroups);
    if (absl::IsFailedPrecondition(found.status())) GTEST_SKIP() << found.status().message();
  }

  static proto::DataSource SourceOf(const std::string& json) {
    proto::DataSource source;
    EXPECT_TRUE(
        google::protobuf::util::JsonStringToMessage(R"({"parquet": )" + json + "}", &source).ok())
        << json;
    return source;
  }

  absl::StatusOr<SourceArrays> Read(const std::string& json) {
    const proto::DataSource source = SourceOf(json);
    const auto files = ListFiles(source, *model_);
    if (!files.ok()) return files.status();
    return Read(source, *files, nullptr);
  }

  absl::StatusOr<SourceArrays> Read(const proto::DataSource& source, const SourceFiles& files,
                                    const PlannedFiles* planned) {
    const std::vector<LabelSpec> labels = {{.type = proto::INT32, .least = 0, .most = 1}};
    proto::DataPlan plan;
    const absl::Status status = InspectAlone(source, files, {}, &plan);
    if (!status.ok()) return status;
    return ReadParquet({source, files, plan, *model_, labels, storage_.get(), planned});
  }

  std::string Error(const std::string& json) { return std::string(Read(json).status().message()); }

  static const std::string kGroups;
  std::unique_ptr<nn::Model> model_;
  std::shared_ptr<DataStorage> storage_ = std::make_shared<DataStorage>(DataStorage::Options());
};

const std::string ParquetSourceTest::kGroups =
    R"({"files": [")" + kFolder +
    R"(groups.parquet"], "features": [{"name": "i"}], "labels": [{"name": "y"}],
        "filter": "i >= 39998 and i < 40003"})";

std::vector<double> Values(const Array& array) {
  std::vector<double> values;
  EXPECT_TRUE(array
                  .ForEachRow([&](int64_t, const char* bytes) {
                    double value = 0;
                    array.RowToDoubles(bytes, &value);
                    values.push_back(value);
                    return absl::OkStatus();
                  })
                  .ok());
  return values;
}

TEST_F(ParquetSourceTest, ThePlanHasTheRowsOfEachPart) {
  const auto arrays = Read(kGroups);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  EXPECT_THAT(Values(arrays->inputs[0]), ElementsAre(39998, 39999, 40000, 40001, 40002));
  EXPECT_THAT(Values(arrays->labels[0]), ElementsAre(0, 1, 0, 1, 0));
  ASSERT_EQ(arrays->index.size(), 1u);
  const proto::IndexedFile& entry = arrays->index[0];
  EXPECT_EQ(entry.examples(), 5);
  EXPECT_THAT(entry.part_examples(), ElementsAre(2, 3));
  EXPECT_THAT(entry.part_rows(), ElementsAre(40000, 30000));
  EXPECT_EQ(entry.bytes(), fs::file_size(kFolder + "groups.parquet"));
}

TEST_F(ParquetSourceTest, APartIsReadWhenItsRowsAreUsed) {
  const proto::DataSource source = SourceOf(kGroups);
  const auto files = ListFiles(source, *model_);
  const auto inspected = Read(source, *files, nullptr);
  ASSERT_TRUE(inspected.ok()) << inspected.status();
  const PlannedFiles planned{
      inspected->index, {*FileFingerprint(kFolder + "groups.parquet")}, storage_};
  const uint64_t before = FilesOpened();
  const auto arrays = Read(source, *files, &planned);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  EXPECT_EQ(FilesOpened(), before);
  EXPECT_THAT(Values(arrays->inputs[0]), ElementsAre(39998, 39999, 40000, 40001, 40002));
  // Of each part: for its fingerprint, and to read it.
  EXPECT_EQ(FilesOpened(), before + 4);
  EXPECT_THAT(Values(arrays->labels[0]), ElementsAre(0, 1, 0, 1, 0));
  EXPECT_EQ(FilesOpened(), before + 4);
}

TEST_F(ParquetSourceTest, VocabulariesAreThoseOfAllFiles) {
  const proto::DataSource source =
      SourceOf(R"({"files": [")" + kFolder + R"(types.parquet", ")" + kFolder + R"(empty.parquet"],
          "features": [{"name": "name", "categorical": true, "defaultName": "none"}],
          "labels": [{"name": "int8"}]})");
  proto::DataPlan plan;
  ASSERT_TRUE(InspectAlone(source, *ListFiles(source, *model_), {}, &plan).ok());
  ASSERT_EQ(plan.vocabularies_size(), 1);
  EXPECT_EQ(plan.vocabularies(0).column(), "name");
  EXPECT_THAT(plan.vocabularies(0).names(), ElementsAre("it's", "none", "rose", "été"));
  const proto::DataSource text = SourceOf(R"({"files": [")" + kFolder + R"(types.parquet"],
          "features": [{"name": "name", "textVectorization": {"maxTokens": 4}}],
          "labels": [{"name": "int8"}]})");
  plan.Clear();
  ASSERT_TRUE(InspectAlone(text, *ListFiles(text, *model_), {}, &plan).ok());
  EXPECT_THAT(plan.vocabularies(0).names(), ElementsAre("rose", "été"));
}

TEST_F(ParquetSourceTest, TokensAreThoseOfTheTrainingRows) {
  // The rows that the filter selects, twice: rose, rose, it's; rose, rose, it's.
  const proto::DataSource source = SourceOf(R"({"files": [")" + kFolder + R"(types.parquet"],
          "features": [{"name": "name", "textVectorization": {}}],
          "labels": [{"name": "dictionary", "categorical": true}], "filter": "int8 <> -1"})");
  proto::DataPlan plan;
  const auto choose = [&](std::vector<int64_t> training) {
    return [training](int64_t rows,
                      const std::vector<int32_t>& /*passed*/) -> absl::StatusOr<IsTrainingRow> {
      EXPECT_EQ(rows, 6);
      return [training](int64_t row) {
        return std::find(training.begin(), training.end(), row) != training.end();
      };
    };
  };
  SourceFiles files;
  files.features = {{kFolder + "types.parquet", kFolder + "types.parquet"}};
  ASSERT_TRUE(InspectAlone(source, files, choose({0, 4}), &plan).ok());
  EXPECT_THAT(plan.vocabularies(0).names(), ElementsAre("rose"));
  // Names are those of all rows.
  EXPECT_THAT(plan.vocabularies(1).names(), ElementsAre("a", "b"));
  plan.Clear();
  ASSERT_TRUE(InspectAlone(source, files, choose({5}), &plan).ok());
  EXPECT_THAT(plan.vocabularies(0).names(), ElementsAre("its"));
}

TEST_F(ParquetSourceTest, PartsTogetherHaveWhatAllFilesHave) {
  const proto::DataSource source = SourceOf(R"({"files": [")" + kFolder + R"(types.parquet"],
          "features": [{"name": "name", "textVectorization": {}}],
          "labels": [{"name": "dictionary", "categorical": true}]})");
  const SourceFiles once{.features = {{kFolder + "types.parquet"}}};
  const SourceFiles twice{.features = {{kFolder + "types.parquet", kFolder + "types.parquet"}}};
  proto::DataPlan expected;
  ASSERT_TRUE(InspectAlone(source, twice, {}, &expected).ok());
  EXPECT_EQ(expected.vocabularies_size(), 2);
  job::DataFindings findings(source);
  for (int part = 0; part < 2; ++part) {
    const auto found = SearchParquet(source, once, {});
    ASSERT_TRUE(found.ok()) << found.status();
    ASSERT_TRUE(findings.Add(*found).ok());
  }
  proto::DataPlan plan;
  ASSERT_TRUE(findings.Report(&plan).ok());
  EXPECT_EQ(plan.ShortDebugString(), expected.ShortDebugString());
}

TEST_F(ParquetSourceTest, APartHasAllRowsOfItsMetadata) {
  proto::DataSource source = SourceOf(kGroups);
  source.mutable_parquet()->clear_filter();
  const auto files = ListFiles(source, *model_);
  const auto inspected = Read(source, *files, nullptr);
  ASSERT_TRUE(inspected.ok()) << inspected.status();
  PlannedFiles planned{inspected->index, {*FileFingerprint(kFolder + "groups.parquet")}, storage_};
  planned.index[0].set_part_rows(1, 30001);
  const auto arrays = Read(source, *files, &planned);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  const absl::Status status =
      arrays->inputs[0].ForEachRow([](int64_t, const char*) { return absl::OkStatus(); });
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("groups.parquet: it has 30000 rows where its metadata has 30001"));
}

TEST_F(ParquetSourceTest, AnInspectionEndsWhenTheNamesAreTooLarge) {
  const auto inspect = [&](const std::string& column) {
    const proto::DataSource source =
        SourceOf(R"({"files": [")" + kFolder + R"(groups.parquet"], "features": [)" + column +
                 R"(], "labels": [{"name": "y"}]})");
    proto::DataPlan plan;
    return std::string(InspectAlone(source, *ListFiles(source, *model_), {}, &plan).message());
  };
  // 70000 names of up to 5 digits are smaller than 1 MiB.
  EXPECT_EQ(inspect(R"({"name": "i", "categorical": true})"), "");
  EXPECT_EQ(inspect(R"({"name": "i", "textVectorization": {}})"), "");
  EXPECT_THAT(inspect(R"({"name": "i", "categorical": true}, {"name": "i",
                          "textVectorization": {}})"),
              HasSubstr("column \"i\" has 70000 tokens or more: the job's vocabularies are larger "
                        "than 1024 KiB; set \"max_tokens\""));
}

TEST_F(ParquetSourceTest, FoldersStandForTheirFiles) {
  const auto files = ListParquet({}, {kFolder}, true);
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_THAT(*files, ElementsAre(kFolder + "empty.parquet", kFolder + "groups.parquet",
                                  kFolder + "types.parquet"));
}

TEST_F(ParquetSourceTest, MistakesAreNamed) {
  const auto with = [](const std::string& columns) {
    return R"({"files": [")" + kFolder + R"(types.parquet"], )" + columns + "}";
  };
  EXPECT_THAT(Error(with(R"("features": [{"name": "null"}], "labels": [{"name": "bool"}])")),
              HasSubstr("types.parquet: row 0: column \"null\" is null; set \"default\" to replace "
                        "nulls"));
  EXPECT_THAT(Error(with(R"("features": [{"name": "name"}], "labels": [{"name": "bool"}])")),
              HasSubstr("row 0: column \"name\" has texts; set \"categorical\": true"));
  EXPECT_THAT(Error(with(R"("features": [{"name": "int8"}], "labels": [{"name": "uint16"}])")),
              HasSubstr("row 2: column \"uint16\" has the value 2, labels from 0 to 1 expected"));
  EXPECT_THAT(Error(with(R"("features": [{"name": "int8"}], "labels": [{"name": "bool"}],
                            "filter": "int8 > 200")")),
              HasSubstr("types.parquet: no row is left for which \"filter\" is true"));
  EXPECT_THAT(Error(with(R"("features": [{"name": "double"}], "labels": [{"name": "bool"}])")),
              HasSubstr("row 1: column \"double\" has the value 1e+300, not a finite float32"));
  EXPECT_THAT(Error(with(R"("features": [{"name": "pair"}], "labels": [{"name": "bool"}])")),
              HasSubstr("column \"pair\" has 2 values, 1 expected: shape (1,)"));
}

}  // namespace
}  // namespace cairn::worker
