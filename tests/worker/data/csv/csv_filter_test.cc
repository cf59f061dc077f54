#include "worker/data/csv/csv_filter.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/worker/data/data_files.h"

namespace cairn::worker {
namespace {

using cairn::testing::WriteDataFile;

// The fields of column x in the rows that the filter keeps, or the error.
std::string Kept(const std::string& filter, const std::string& text) {
  proto::DataSource source;
  source.add_pipeline()->set_filter(filter);
  source.mutable_csv()->add_missing("?");
  std::vector<std::string> columns = {"x"};
  const CsvFilter condition(*RowCondition::Of(source), source.csv(), &columns);
  std::string kept;
  const absl::Status status = ReadCsvRows(
      WriteDataFile("f.csv", text), source.csv(), columns, [&](const CsvRow& row) -> absl::Status {
        const absl::StatusOr<int> passed = condition.Passed(row);
        if (passed.ok() && *passed == condition.filters()) kept += std::string(row.field(0)) + " ";
        return passed.status();
      });
  return status.ok() ? kept : std::string(status.message());
}

TEST(CsvFilterTest, ComparesColumnsThatAreNoFeatures) {
  const std::string text = "age,x,country\n30,a,de\n?,b,fr\n50,c,\"it\"\n,d,de\n";
  EXPECT_EQ(Kept("age > 40", text), "c ");
  EXPECT_EQ(Kept("age is null and country in ('de', 'it')", text), "d ");
  EXPECT_EQ(Kept("x <> 'a' and country = 'de'", text), "d ");
  EXPECT_EQ(Kept("not age > 40", text), "a ");
}

TEST(CsvFilterTest, AnErrorHasItsLine) {
  const std::string error = Kept("age > 40", "age,x\n30,a\nold,b\n");
  EXPECT_NE(error.find("line 3, filter: column \"age\" has \"old\""), std::string::npos) << error;
}

TEST(CsvFilterTest, WithoutAConditionAllRowsAreKept) {
  std::vector<std::string> columns = {"x"};
  const proto::CsvSource source;
  const CsvFilter all(nullptr, source, &columns);
  EXPECT_EQ(columns.size(), 1u);
  EXPECT_EQ(*all.Passed({}), all.filters());
}

}  // namespace
}  // namespace cairn::worker
