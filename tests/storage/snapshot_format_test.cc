#include "storage/snapshot_format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace cairn::storage {
namespace {

using std::string_literals::operator""s;

TEST(SnapshotFormatTest, FileNamesRoundTrip) {
  EXPECT_EQ(SnapshotFileName({3, 7}), "job-3.checkpoint-7.sst");
  SnapshotName name;
  ASSERT_TRUE(ParseSnapshotFileName("job-18446744073709551615.checkpoint-0.sst", &name));
  EXPECT_EQ(name, (SnapshotName{UINT64_MAX, 0}));
}

TEST(SnapshotFormatTest, ACopyIsNamedAfterItsPsAndHasTheSameKeys) {
  const SnapshotName copy{3, 7, 12};
  EXPECT_EQ(SnapshotFileName(copy), "job-3.checkpoint-7.copy-of-ps-12.sst");
  SnapshotName name;
  ASSERT_TRUE(ParseSnapshotFileName("job-3.checkpoint-7.copy-of-ps-12.sst", &name));
  EXPECT_EQ(name, copy);
  EXPECT_EQ(BlockKey(copy, 5), BlockKey({3, 7}, 5));
  EXPECT_EQ(DescribeSnapshot(copy), "job 3, checkpoint 7, copy of ps 12's");
}

TEST(SnapshotFormatTest, OtherFileNamesAreRejected) {
  for (const char* file :
       {"", "LOCK", "job-3", "job-3.checkpoint-7", "job-3.checkpoint-7.sst.0.unfinished",
        "job-03.checkpoint-7.sst", "job--3.checkpoint-7.sst", "job-+3.checkpoint-7.sst",
        "job-3.checkpoint-.sst", "job-3.checkpoint-7.copy-of-ps-.sst",
        "job-3.checkpoint-7.copy-of-ps-01.sst", "job-3.checkpoint-7.copy-of-ps-4294967296.sst",
        "job-18446744073709551616.checkpoint-0.sst"}) {
    SnapshotName name{1, 1};
    EXPECT_FALSE(ParseSnapshotFileName(file, &name)) << file;
    EXPECT_EQ(name, (SnapshotName{1, 1})) << file;
  }
}

TEST(SnapshotFormatTest, KeysHaveTheDocumentedBytes) {
  EXPECT_EQ(BlockKey({0x0102, 3}, 0x80000001u), "\0\0\0\0\0\0\1\2\0\0\0\0\0\0\0\3\0\x80\0\0\1"s);
  EXPECT_EQ(IndexKey({0x0102, 3}), "\0\0\0\0\0\0\1\2\0\0\0\0\0\0\0\3\1"s);
}

TEST(SnapshotFormatTest, KeysSortByNumberWithTheIndexLast) {
  const SnapshotName name{1, 255};
  const std::vector<std::string> keys = {
      BlockKey({1, 254}, 9),      BlockKey(name, 0), BlockKey(name, 255),  BlockKey(name, 256),
      BlockKey(name, UINT32_MAX), IndexKey(name),    BlockKey({1, 256}, 0)};
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
}

TEST(SnapshotFormatTest, ARecordRoundTrips) {
  std::string bytes = "left over from the block before";
  const SnapshotIndex::Entry entry = EncodeRecord(5, "head", {"one", "", "two"}, &bytes);
  EXPECT_EQ(entry.block_id, 5u);
  EXPECT_EQ(entry.bytes, 10u);
  const auto record = DecodeRecord(entry, bytes);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->header, "head");
  EXPECT_EQ(record->payload, "onetwo");
}

TEST(SnapshotFormatTest, AnEmptyRecordRoundTrips) {
  std::string bytes;
  const SnapshotIndex::Entry entry = EncodeRecord(0, "", {}, &bytes);
  const auto record = DecodeRecord(entry, bytes);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->header, "");
  EXPECT_EQ(record->payload, "");
}

TEST(SnapshotFormatTest, EveryFlippedBitOfARecordIsDetected) {
  std::string bytes;
  const SnapshotIndex::Entry entry = EncodeRecord(1, "head", {"payload"}, &bytes);
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] ^= 1 << (bit % 8);
    EXPECT_EQ(DecodeRecord(entry, damaged).status().code(), absl::StatusCode::kDataLoss) << bit;
  }
  EXPECT_FALSE(DecodeRecord(entry, bytes.substr(1)).ok());
  EXPECT_FALSE(DecodeRecord(entry, "").ok());
}

TEST(SnapshotFormatTest, AnIndexRoundTripsWithItsSummary) {
  const SnapshotIndex index{{{1, 100, 7}, {4, 20, 8}}};
  const auto decoded = DecodeIndex(EncodeIndex(index));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->Summary(), index.Summary());
  EXPECT_EQ(decoded->Summary().blocks, 2u);
  EXPECT_EQ(decoded->Summary().bytes, 120u);
  ASSERT_NE(decoded->Find(4), nullptr);
  EXPECT_EQ(decoded->Find(4)->checksum, 8u);
  EXPECT_EQ(decoded->Find(2), nullptr);
  EXPECT_EQ(decoded->Find(5), nullptr);
}

TEST(SnapshotFormatTest, TheSummaryDependsOnEveryBlock) {
  const SnapshotSummary summary = SnapshotIndex{{{1, 2, 3}}}.Summary();
  EXPECT_NE((SnapshotIndex{{{9, 2, 3}}}.Summary().checksum), summary.checksum);
  EXPECT_NE((SnapshotIndex{{{1, 9, 3}}}.Summary().checksum), summary.checksum);
  EXPECT_NE((SnapshotIndex{{{1, 2, 9}}}.Summary().checksum), summary.checksum);
}

TEST(SnapshotFormatTest, EveryFlippedBitOrTruncationOfAnIndexIsDetected) {
  const std::string bytes = EncodeIndex({{{1, 100, 7}, {4, 20, 8}}});
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] ^= 1 << (bit % 8);
    EXPECT_EQ(DecodeIndex(damaged).status().code(), absl::StatusCode::kDataLoss) << bit;
  }
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeIndex(bytes.substr(0, size)).ok()) << size;
  }
}

}  // namespace
}  // namespace cairn::storage
