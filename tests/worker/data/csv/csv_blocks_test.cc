#include "worker/data/csv/csv_blocks.h"

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/worker/data/data_files.h"

namespace cairn::worker {
namespace {

using cairn::testing::Gzip;
using cairn::testing::WriteDataFile;
using ::testing::ElementsAre;
using ::testing::EndsWith;

// "LINE:TEXT" of each block; an error becomes the last one.
std::vector<std::string> Blocks(const std::string& bytes, size_t block_bytes) {
  CsvBlocks blocks(*FileReader::Open(WriteDataFile("blocks.csv", bytes)), block_bytes);
  std::vector<std::string> seen;
  CsvBlock block;
  while (true) {
    const absl::StatusOr<bool> found = blocks.Next(&block);
    if (!found.ok()) seen.push_back(std::string(found.status().message()));
    if (!found.ok() || !*found) return seen;
    seen.push_back(std::to_string(block.line) + ":" + block.text);
  }
}

TEST(CsvBlocksTest, BlocksEndWhereRecordsDo) {
  EXPECT_THAT(Blocks("a\nb\nc", 3), ElementsAre("1:a\n", "2:b\nc"));
  EXPECT_THAT(Blocks("a\nb\nc\n", 2), ElementsAre("1:a\n", "2:b\n", "3:c\n"));
  EXPECT_THAT(Blocks("a\r\nb\r\n", 1), ElementsAre("1:a\r\n", "2:b\r\n"));
  EXPECT_THAT(Blocks("\"x\ny\",1\nz\n", 4), ElementsAre("1:\"x\ny\",1\n", "3:z\n"));
  EXPECT_THAT(Blocks("\"x\"\"\ny\"\nz\n", 4), ElementsAre("1:\"x\"\"\ny\"\n", "3:z\n"));
  EXPECT_THAT(Blocks(Gzip("a\nb\n"), 2), ElementsAre("1:a\n", "2:b\n"));
}

TEST(CsvBlocksTest, AMarkIsNoText) {
  for (size_t size = 1; size < 8; ++size) {
    EXPECT_EQ(Blocks("\xef\xbb\xbf\"a\"\n", size), std::vector<std::string>{"1:\"a\"\n"}) << size;
  }
  EXPECT_THAT(Blocks(std::string("\xff\xfe\x61\0", 4), 16),
              ElementsAre(EndsWith("/blocks.csv: line 1, field 1: the file is UTF-16; write it as "
                                   "UTF-8")));
}

// Whatever their size, blocks are the file, and each is whole records: quotes come in pairs.
TEST(CsvBlocksTest, TogetherTheyAreTheFile) {
  std::mt19937 random(1);
  const std::string characters = "a,\n\"";
  for (int round = 0; round < 50; ++round) {
    std::string text;
    bool quoted = false;
    for (int i = 0; i < 40; ++i) {
      text += characters[random() % characters.size()];
      quoted ^= text.back() == '"';
    }
    text += quoted ? "\"\n" : "\n";
    for (size_t size = 1; size < text.size() + 2; size += 3) {
      std::string all;
      int64_t line = 1;
      for (const std::string& block : Blocks(text, size)) {
        const std::string prefix = std::to_string(line) + ":";
        ASSERT_EQ(block.substr(0, prefix.size()), prefix) << text;
        const std::string records = block.substr(prefix.size());
        EXPECT_EQ(std::count(records.begin(), records.end(), '"') % 2, 0) << text;
        EXPECT_EQ(records.back(), '\n');
        line += std::count(records.begin(), records.end(), '\n');
        all += records;
      }
      EXPECT_EQ(all, text);
    }
  }
}

TEST(CsvBlocksTest, ARecordWithoutEndIsGivenUpBehindItsBeginning) {
  const std::string text = "a\n\"" + std::string(CsvBlocks::kRecordBytesMax * 2, 'x');
  const std::vector<std::string> seen = Blocks(text, size_t{1} << 20);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0], "1:a\n");
  EXPECT_LT(seen[1].size(), CsvBlocks::kRecordBytesMax + (size_t{2} << 20));
  EXPECT_THAT(seen[2],
              EndsWith("/blocks.csv: line 2: it does not end within 16 MiB; is a quote not "
                       "closed?"));
}

}  // namespace
}  // namespace cairn::worker
