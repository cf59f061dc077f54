#include "worker/data/tfrecord/record_scan.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/worker/data/data_files.h"
#include "tests/worker/data/tfrecord/example_bytes.h"

namespace cairn::worker {
namespace {

using cairn::testing::BytesFeature;
using cairn::testing::ExampleBytes;
using cairn::testing::IntsFeature;
using cairn::testing::RecordBytes;
using cairn::testing::WriteDataFile;
using ::testing::HasSubstr;

TEST(RecordScanTest, VisitsTheRecordsThatTheConditionKeeps) {
  std::string bytes;
  for (const int64_t i : {0, 1, 2, 3}) {
    if (i == 2) bytes += RecordBytes("no example");
    bytes += RecordBytes(
        ExampleBytes({{"x", BytesFeature({std::string(i + 1, 'x')})}, {"i", IntsFeature({i})}}));
  }
  const std::string path = WriteDataFile("s.tfrecord", bytes);
  const RecordScan scan({{"x", 1}}, std::make_shared<const RowCondition>(
                                        std::vector{*job::ParseRowFilter("i <> 1")}));
  std::string seen;
  std::string damage;
  const auto visit = [&](std::string_view, const std::vector<FeatureValues>& values, int passed) {
    EXPECT_TRUE(scan.Keeps(passed));
    seen += std::string(values[0].bytes[0]) + " ";
    return values[0].bytes[0] == "xxxx" ? absl::InvalidArgumentError("too long") : absl::OkStatus();
  };
  const auto note = [&](const std::string& error) {
    damage += error + "; ";
    return absl::OkStatus();
  };
  EXPECT_TRUE(scan.ForEach(path, visit, note).ok());
  EXPECT_EQ(seen, "x xxx xxxx ");
  EXPECT_THAT(damage, HasSubstr("s.tfrecord, record 2 at byte"));
  EXPECT_THAT(damage, HasSubstr("it is not a tf.train.Example; "));
  EXPECT_THAT(damage, HasSubstr(": too long; "));
  const auto stop = [](const std::string&) { return absl::InvalidArgumentError("enough"); };
  EXPECT_EQ(scan.ForEach(path, visit, stop).message(), "enough");
}

TEST(RecordScanTest, VisitsAllRecordsIfTheConditionNeedsThem) {
  std::string bytes;
  for (const int64_t i : {0, 1, 2}) {
    bytes += RecordBytes(ExampleBytes({{"i", IntsFeature({i})}}));
  }
  const std::string path = WriteDataFile("all.tfrecord", bytes);
  const RecordScan scan(
      {}, std::make_shared<const RowCondition>(
              std::vector{*job::ParseRowFilter("i <> 1"), *job::ParseRowFilter("i < 2")},
              /*needs_all_rows=*/true));
  std::vector<int> seen;
  const auto visit = [&](std::string_view, const std::vector<FeatureValues>&, int passed) {
    seen.push_back(passed);
    return absl::OkStatus();
  };
  const auto stop = [](const std::string& error) { return absl::InvalidArgumentError(error); };
  EXPECT_TRUE(scan.ForEach(path, visit, stop).ok());
  EXPECT_EQ(seen, std::vector<int>({2, 0, 1}));
  EXPECT_TRUE(scan.Keeps(2) && !scan.Keeps(1));
}

}  // namespace
}  // namespace cairn::worker
