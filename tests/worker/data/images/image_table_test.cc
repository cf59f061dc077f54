#include "worker/data/images/image_table.h"

#include <filesystem>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/worker/data/data_files.h"

namespace cairn::worker {
namespace {

using cairn::testing::Gzip;
using cairn::testing::WriteDataFile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// "PATH LABEL" of each row, or the error. Paths begin at the folder of the tables.
std::vector<std::string> Read(const proto::ImagesSource& source,
                              const std::vector<std::string>& tables,
                              TableLabels labels = TableLabels::kAny) {
  const auto rows = ReadImageTables(source, tables, labels);
  if (!rows.ok()) return {std::string(rows.status().message())};
  std::vector<std::string> texts;
  for (const TableImage& row : *rows) {
    const std::string folder = std::filesystem::path(tables[0]).parent_path().string() + "/";
    const bool is_inside = row.path.compare(0, folder.size(), folder) == 0;
    texts.push_back((is_inside ? row.path.substr(folder.size()) : row.path) + " " + row.label);
  }
  return texts;
}

TEST(ImageTableTest, RowsOfAllTablesFollowEachOther) {
  const std::string csv = WriteDataFile(
      "a.csv.gz", Gzip("x,class,filename\n1,\"red, or not\",d/1.png\n2, ,/abs/2.png\n"));
  const std::string tsv = WriteDataFile("b.TSV", "filename\tclass\n3.png\tblue\n");
  EXPECT_THAT(Read({}, {csv, tsv}),
              ElementsAre("d/1.png red, or not", "/abs/2.png  ", "3.png blue"));
  EXPECT_THAT(Read({}, {tsv}, TableLabels::kNone), ElementsAre("3.png "));
}

TEST(ImageTableTest, ColumnsAndClassesMayBeNamed) {
  const std::string table = WriteDataFile("c.csv", "p,l\n1.png,a\n2.png,b\n3.png,c\n");
  proto::ImagesSource source;
  source.set_path_column("p");
  source.set_label_column("l");
  source.add_class_names("c");
  source.add_class_names("a");
  EXPECT_THAT(Read(source, {table}), ElementsAre("1.png a", "3.png c"));
  source.set_label_column("m");
  EXPECT_THAT(Read(source, {table})[0], HasSubstr("c.csv: it has no column \"m\", only p, l"));
  EXPECT_EQ(Read(source, {table}, TableLabels::kNone).size(), 3u);
}

TEST(ImageTableTest, DamagedRowsAreNamedWithTheirLine) {
  const std::string table = WriteDataFile("d.csv", "filename,class\n1.png,a\n2.png\n");
  EXPECT_THAT(Read({}, {table})[0], HasSubstr("d.csv: line 3"));
}

TEST(ImageTableTest, AMissingLabelIsNoClass) {
  const std::string table =
      WriteDataFile("m.csv", "filename,class\n1.png,daisy\n2.png,\n3.png,aster\n");
  for (const TableLabels labels : {TableLabels::kAny, TableLabels::kClasses}) {
    EXPECT_THAT(Read({}, {table}, labels)[0],
                HasSubstr("m.csv: line 3, column \"class\": the label is missing; add it, or"));
  }
  EXPECT_THAT(Read({}, {table}, TableLabels::kNone), ElementsAre("1.png ", "2.png ", "3.png "));
  proto::ImagesSource source;
  source.add_class_names("aster");
  EXPECT_THAT(Read(source, {table}), ElementsAre("3.png aster"));
}

// The labels are the float64s 0, 1 and NaN.
TEST(ImageTableTest, ANanIsAMissingLabelOfClasses) {
  const std::string table = "tests/worker/data/images/testdata/labels.parquet";
  EXPECT_THAT(Read({}, {table}), ElementsAre("1.png 0", "2.png 1", "3.png nan"));
  EXPECT_THAT(Read({}, {table}, TableLabels::kClasses)[0],
              HasSubstr("column \"class\": the label is missing"));
  EXPECT_THAT(Read({}, {table}, TableLabels::kClasses)[0], HasSubstr("row 2"));
}

TEST(ImageTableTest, TheNameSaysWhatIsATable) {
  for (const char* const name : {"a.csv", "b.TSV.gz", "c/d.parquet"})
    EXPECT_TRUE(IsImageTable(name));
  for (const char* const name : {"a.png", "csv", "d.csv/1.jpg"}) EXPECT_FALSE(IsImageTable(name));
}

}  // namespace
}  // namespace cairn::worker
