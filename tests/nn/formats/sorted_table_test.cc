#include "nn/formats/sorted_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "nn/formats/crc32c.h"

namespace cairn::nn {
namespace {

using ::testing::HasSubstr;

// Several blocks, and keys that share prefixes over a restart.
std::map<std::string, std::string> ManyEntries() {
  std::map<std::string, std::string> entries = {{"", "header"}};
  for (int i = 0; i < 1000; ++i)
    entries[absl::StrCat("layer/", i, "/kernel")] = std::string(i, 'v');
  return entries;
}

std::string Error(std::string_view file) {
  return std::string(ReadSortedTable(file).status().message());
}

// A table of this one block, which is compressed if `type` is 1.
std::string TableOf(std::string block, char type = 0) {
  std::string index("\0\1\2a", 4);
  index += std::string("\0", 1) + static_cast<char>(block.size());
  index += std::string("\0\0\0\0\1\0\0\0", 8);
  const auto finish = [](std::string bytes, char type) {
    bytes.push_back(type);
    const uint32_t crc = MaskedCrc(Crc32c(bytes));
    return bytes + std::string(reinterpret_cast<const char*>(&crc), sizeof(crc));
  };
  const std::string blocks = finish(block, type);
  std::string footer = {0, 0, static_cast<char>(blocks.size()), static_cast<char>(index.size())};
  footer.resize(40);
  return blocks + finish(index, 0) + footer + "\x57\xfb\x80\x8b\x24\x75\x47\xdb";
}

TEST(SortedTableTest, WhatIsWrittenIsRead) {
  const std::string file = WriteSortedTable(ManyEntries());
  EXPECT_TRUE(IsSortedTable(file));
  const auto read = ReadSortedTable(file);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, ManyEntries());
  EXPECT_EQ(ReadSortedTable(WriteSortedTable({}))->size(), 0);
}

TEST(SortedTableTest, EachByteOfABlockIsChecked) {
  const std::string file = WriteSortedTable({{"a", "1"}, {"b", "2"}});
  int wrong = 0;
  for (size_t i = 0; i < file.size(); ++i) {
    std::string damaged = file;
    damaged[i] ^= 1;
    const auto read = ReadSortedTable(damaged);
    // The footer has a place that is not used, and padding.
    if (!read.ok()) {
      ++wrong;
      continue;
    }
    EXPECT_EQ(*read, ReadSortedTable(file).value()) << i;
  }
  EXPECT_GT(wrong, 30);
  for (size_t size = 0; size < file.size(); ++size) {
    EXPECT_FALSE(ReadSortedTable(std::string_view(file).substr(0, size)).ok()) << size;
  }
}

TEST(SortedTableTest, BlocksThatAreNotReadAreNamed) {
  const std::string restart("\0\0\0\0\1\0\0\0", 8);
  const std::string a = std::string("\0\1\1a1", 5);
  EXPECT_EQ(ReadSortedTable(TableOf(a + restart))->at("a"), "1");
  EXPECT_THAT(Error(TableOf(a + restart, 1)), HasSubstr("compressed (Snappy)"));
  EXPECT_THAT(Error(TableOf(a + a + restart)), HasSubstr("out of order"));
  EXPECT_THAT(Error(TableOf(std::string("\1\1\1a1", 5) + restart)), HasSubstr("beyond its block"));
  EXPECT_THAT(Error(TableOf(std::string("\0\2\1a1", 5) + restart)), HasSubstr("beyond its block"));
  EXPECT_THAT(Error(TableOf("\xff\xff\xff\x7f")), HasSubstr("too many restarts"));
}

// Each key repeats the one before it: 5 bytes would become 4 KiB.
TEST(SortedTableTest, LongKeysAreRefused) {
  std::map<std::string, std::string> entries;
  entries[std::string(4097, 'k')] = "";
  EXPECT_THAT(Error(WriteSortedTable(entries)), HasSubstr("more than 4 KiB"));
}

}  // namespace
}  // namespace cairn::nn
