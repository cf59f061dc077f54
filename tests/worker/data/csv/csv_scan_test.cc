#include "worker/data/csv/csv_scan.h"

#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/no_more_threads.h"
#include "tests/worker/data/data_files.h"

namespace cairn::worker {
namespace {

using cairn::testing::NoMoreThreads;
using cairn::testing::WriteDataFile;
using ::testing::EndsWith;

constexpr int kRecords = 2000;

// A header and numbers from 0 on.
std::string Numbers() {
  std::string text = "head\n";
  for (int i = 0; i < kRecords; ++i) text += std::to_string(i) + "\n";
  return text;
}

class CsvScanTest : public ::testing::TestWithParam<int> {
 protected:
  // In blocks of some 50 records.
  absl::Status Scan(const std::string& text, CsvScan::Visit visit, CsvScan::Take take) {
    CsvBlocks blocks(*FileReader::Open(WriteDataFile("scan.csv", text)), 256);
    return CsvScan(&blocks, ',', GetParam()).Run(visit, take);
  }
};

TEST_P(CsvScanTest, WhatWasMadeOfBlocksIsTakenInTheFilesOrder) {
  std::string head;
  std::vector<std::vector<int>> slots(CsvScan::SlotsOf(GetParam()));
  std::vector<int> taken;
  const auto visit = [&](int slot, const CsvRecord& record) {
    if (head.empty()) {
      head = record.fields[0];
    } else {
      slots[slot].push_back(std::stoi(std::string(record.fields[0])));
    }
    return absl::OkStatus();
  };
  const auto take = [&](int slot) {
    taken.insert(taken.end(), slots[slot].begin(), slots[slot].end());
    slots[slot].clear();
    return absl::OkStatus();
  };
  ASSERT_TRUE(Scan(Numbers(), visit, take).ok());
  EXPECT_EQ(head, "head");
  std::vector<int> all(kRecords);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(taken, all);
}

TEST_P(CsvScanTest, EmptyLinesBeforeTheFirstRecordDoNotMatter) {
  std::string head;
  int others = 0;
  const auto visit = [&](int, const CsvRecord& record) {
    if (head.empty()) head = record.fields[0];
    return absl::OkStatus();
  };
  const auto take = [&](int) {
    ++others;
    return absl::OkStatus();
  };
  ASSERT_TRUE(Scan(std::string(5000, '\n') + Numbers(), visit, take).ok());
  EXPECT_EQ(head, "head");
  EXPECT_GT(others, 20);
}

TEST_P(CsvScanTest, TheFirstErrorOfTheFileIsTheResult) {
  // Behind 1500 stands no CSV.
  std::string text = Numbers();
  text.replace(text.find("\n1500\n") + 1, 4, "1\"00");
  const auto take = [](int) { return absl::OkStatus(); };
  const auto scan = [&](const char* wrong) {
    const auto visit = [&](int, const CsvRecord& record) {
      if (record.fields[0] != wrong) return absl::OkStatus();
      return absl::InvalidArgumentError("line " + std::to_string(record.line) + " is wrong");
    };
    return std::string(Scan(text, visit, take).message());
  };
  EXPECT_THAT(scan("1000"), EndsWith("scan.csv: line 1002 is wrong"));
  EXPECT_THAT(scan("1900"), EndsWith("scan.csv: line 1502, field 1: a quote inside of a field that "
                                     "does not begin with one"));
}

TEST_P(CsvScanTest, RecordsBeforeTheErrorAreTaken) {
  std::string text = Numbers();
  text.replace(text.find("\n1500\n") + 1, 4, "1\"00");
  std::vector<int> slots(CsvScan::SlotsOf(GetParam()));
  int taken = 0;
  const auto visit = [&](int slot, const CsvRecord&) {
    ++slots[slot];
    return absl::OkStatus();
  };
  const auto take = [&](int slot) {
    taken += std::exchange(slots[slot], 0);
    return absl::OkStatus();
  };
  EXPECT_FALSE(Scan(text, visit, take).ok());
  EXPECT_EQ(taken, 1501);  // With the header.
}

TEST_P(CsvScanTest, AnErrorOfTheFirstRecordKeepsAllOthersFromBeingVisited) {
  int visited = 0;
  const auto visit = [&](int, const CsvRecord&) {
    ++visited;
    return absl::InvalidArgumentError("line 1 is wrong");
  };
  const absl::Status status = Scan(Numbers(), visit, [](int) { return absl::OkStatus(); });
  EXPECT_THAT(std::string(status.message()), EndsWith("scan.csv: line 1 is wrong"));
  EXPECT_EQ(visited, 1);
}

TEST_P(CsvScanTest, WithoutThreadsTheCallersDoesAll) {
  int visited = 0;
  const auto visit = [&](int, const CsvRecord&) {
    ++visited;
    return absl::OkStatus();
  };
  const NoMoreThreads none;
  ASSERT_TRUE(Scan(Numbers(), visit, [](int) { return absl::OkStatus(); }).ok());
  EXPECT_EQ(visited, kRecords + 1);
}

TEST_P(CsvScanTest, ItEndsWithTheErrorOfWhoTakes) {
  int taken = 0;
  const absl::Status status = Scan(
      Numbers(), [](int, const CsvRecord&) { return absl::OkStatus(); },
      [&](int) { return ++taken == 3 ? absl::ResourceExhaustedError("full") : absl::OkStatus(); });
  EXPECT_EQ(status, absl::ResourceExhaustedError("full"));
  EXPECT_EQ(taken, 3);
}

TEST_P(CsvScanTest, WhatAVisitorThrowsIsThrown) {
  const auto visit = [](int, const CsvRecord& record) -> absl::Status {
    if (record.fields[0] == "1234") throw std::bad_alloc();
    return absl::OkStatus();
  };
  EXPECT_THROW(Scan(Numbers(), visit, [](int) { return absl::OkStatus(); }).IgnoreError(),
               std::bad_alloc);
}

INSTANTIATE_TEST_SUITE_P(Threads, CsvScanTest, ::testing::Values(1, 2, 5));

}  // namespace
}  // namespace cairn::worker
