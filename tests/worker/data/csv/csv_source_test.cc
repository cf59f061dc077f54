#include "worker/data/csv/csv_source.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/nn/test_model.h"
#include "tests/worker/data/data_files.h"
#include "worker/data/source_arrays.h"

namespace cairn::worker {
namespace {

using cairn::testing::WriteDataFile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

SourceFiles FilesOf(const proto::DataSource& source) {
  return {.features = {{source.csv().files().begin(), source.csv().files().end()}}};
}

absl::StatusOr<SourceArrays> Read(const proto::DataSource& source) {
  const auto model = nn::testing::ModelOf(
      {{"in", "InputLayer", R"({"batch_shape": [null, 2]})"}, {"out", "Dense", R"({"units": 3})"}});
  const SourceFiles files = FilesOf(source);
  const proto::DataPlan plan;
  const std::vector<LabelSpec> label_specs = {{.type = proto::INT32}};
  DataStorage storage({});
  return ReadCsv({source, files, plan, *model, label_specs, &storage});
}

TEST(CsvSourceTest, AllProblemsOfAllFilesAreInOneMessage) {
  proto::DataSource source;
  source.mutable_csv()->add_labels()->set_name("y");
  source.mutable_csv()->add_files(WriteDataFile("p1.csv", "a,b,c,y\n1,2,3,0\n1,x,3,0\n"));
  source.mutable_csv()->add_files(WriteDataFile("p2.csv", "a,b,c,y\n1,2,3,1\n"));
  source.mutable_csv()->add_files(WriteDataFile("p3.csv", "a,b,y\n1,2,\n"));
  const std::string folder = "data file " + ::testing::TempDir();
  EXPECT_EQ(Read(source).status().message(),
            "the model's input 'in' takes 2 values per example, the data give 3: columns \"a\", "
            "\"b\", \"c\" (all columns but the labels; choose by \"features\"); " +
                folder +
                "/p1.csv: line 3, column \"b\": \"x\" is not a number; if the column holds "
                "names, set \"categorical\": true; " +
                folder +
                "/p3.csv: 2 problems: (1) it has no column \"c\"; it has \"a\", \"b\", \"y\"; (2) "
                "line 2, column \"y\": \"\" is a missing value; leave the line out, or set "
                "\"missing\": {\"value\": 0}");
  for (int i = 0; i < 20; ++i) {
    source.mutable_csv()->add_files(WriteDataFile("q" + std::to_string(i) + ".csv", "a\n"));
  }
  EXPECT_THAT(std::string(Read(source).status().message()),
              ::testing::EndsWith("; and 18 more files have problems"));
}

// The mean is that of the rows for training.
TEST(CsvSourceTest, TheInspectionFixesColumnsAndFills) {
  proto::DataSource source;
  source.mutable_csv()->add_labels()->set_name("y");
  source.mutable_csv()->add_files(WriteDataFile("i1.csv", "a,y,b\n1,0,2\n3,1,4\n"));
  proto::DataPlan plan;
  ASSERT_TRUE(InspectAlone(source, FilesOf(source), nullptr, &plan).ok());
  EXPECT_THAT(plan.csv_features(), ElementsAre("a", "b"));

  proto::CsvColumn* column = source.mutable_csv()->add_features();
  column->set_name("a");
  column->mutable_missing()->set_name("mean");
  int64_t rows = 0;
  const auto choose = [&rows](
                          int64_t count,
                          const std::vector<int32_t>& /*passed*/) -> absl::StatusOr<IsTrainingRow> {
    rows = count;
    return [](int64_t row) { return row == 1; };
  };
  plan.Clear();
  ASSERT_TRUE(InspectAlone(source, FilesOf(source), choose, &plan).ok());
  EXPECT_EQ(rows, 2);
  EXPECT_TRUE(plan.csv_features().empty());
  EXPECT_EQ(plan.fills(0).value(), 3);
}

proto::DataSource DamagedSource(int64_t skip_damaged) {
  proto::DataSource source;
  source.set_skip_damaged(skip_damaged);
  source.mutable_csv()->add_labels()->set_name("y");
  source.mutable_csv()->add_files(
      WriteDataFile("d1.csv", "a,b,y\n1,2,0\n1,x,z\n1,2\n5,6,1\n1,nan,1\n"));
  source.mutable_csv()->add_files(WriteDataFile("d2.csv", "a,b,y\n"));
  source.mutable_csv()->add_files(WriteDataFile("d3.csv", "a,b,y\n1,,0\n7,8,2\n1,2,\"0"));
  return source;
}

// A row with two wrong fields is one damaged row.
TEST(CsvSourceTest, DamagedRowsAreSkippedInAllFiles) {
  const auto arrays = Read(DamagedSource(5));
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  EXPECT_EQ(arrays->damaged.count(), 5);
  EXPECT_THAT(arrays->damaged.places(), ElementsAre(1, 2, 4, 5, 7));
  EXPECT_EQ(arrays->damaged.first_error(),
            "data file " + ::testing::TempDir() +
                "/d1.csv: line 3, column \"b\": \"x\" is not a number; if the column holds names, "
                "set \"categorical\": true");
  std::vector<double> values(2);
  std::vector<std::vector<double>> rows;
  ASSERT_TRUE(arrays->inputs[0]
                  .ForEachRow([&](int64_t, const char* bytes) {
                    arrays->inputs[0].RowToDoubles(bytes, values.data());
                    rows.push_back(values);
                    return absl::OkStatus();
                  })
                  .ok());
  EXPECT_THAT(rows, ElementsAre(ElementsAre(1, 2), ElementsAre(5, 6), ElementsAre(7, 8)));
  EXPECT_EQ(arrays->labels[0].rows(), 3);
}

TEST(CsvSourceTest, MoreDamagedRowsThanAllowedAreAnError) {
  const std::string message(Read(DamagedSource(4)).status().message());
  EXPECT_THAT(message, ::testing::StartsWith("5 damaged records, \"skip_damaged\" allows 4: "));
  EXPECT_THAT(message, HasSubstr("/d1.csv: 4 problems: (1) line 3, column \"b\": \"x\" is not"));
  EXPECT_THAT(message, HasSubstr("line 4: field 3: a quote is opened and not closed"));
  EXPECT_THAT(std::string(Read(DamagedSource(0)).status().message()),
              ::testing::Not(HasSubstr("skip_damaged")));
}

// What is wrong with a whole file is no damage of a record.
TEST(CsvSourceTest, AMissingColumnAndAFileThatIsNoCsvAreErrors) {
  for (const char* text :
       {"a,y\n1,0\n", "a,b,y\n1,2,0\n1,\"2\"x,0\n1,2,0\n", "a,b,y\n1,2,0\n1,\"2,0\n1,2,0\n"}) {
    proto::DataSource source = DamagedSource(1000);
    source.mutable_csv()->set_files(1, WriteDataFile("d2.csv", text));
    EXPECT_FALSE(Read(source).ok()) << text;
  }
}

}  // namespace
}  // namespace cairn::worker
