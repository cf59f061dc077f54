#include "worker/data/tfrecord/record_reader.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/worker/data/data_files.h"
#include "tests/worker/data/tfrecord/example_bytes.h"

namespace cairn::worker {
namespace {

using cairn::testing::Gzip;
using cairn::testing::RecordBytes;
using cairn::testing::WriteDataFile;
using cairn::testing::Zlib;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

// The contents of the records; damaged ones as "!" and the reason; at last the error, if any.
std::vector<std::string> Read(const std::string& bytes) {
  const auto reader = RecordReader::Open(WriteDataFile("r.tfrecord", bytes));
  if (!reader.ok()) return {std::string(reader.status().message())};
  std::vector<std::string> all;
  RecordReader::Record record;
  while (true) {
    const auto found = (*reader)->Next(&record);
    if (!found.ok()) all.emplace_back(found.status().message());
    if (!found.ok() || !*found) return all;
    all.push_back(record.damage.empty() ? std::string(record.bytes) : "!" + record.damage);
  }
}

TEST(RecordReaderTest, ThePublishedChecksumIsRight) {
  // A record of TensorBoard's first event, with the checksum that TensorFlow writes.
  const std::string event = RecordBytes(
      "\x1a\x11"
      "CRC test, one two");
  EXPECT_EQ(event.substr(event.size() - 4), "\x8a\xd0\x94\x57");
  EXPECT_EQ(Read(event).size(), 1u);
}

TEST(RecordReaderTest, PlainGzipAndZlibHoldTheSame) {
  const std::string large(3 << 20, 'x');
  const std::string bytes = RecordBytes("one") + RecordBytes("") + RecordBytes(large);
  for (const std::string& file : {bytes, Gzip(bytes), Zlib(bytes)}) {
    EXPECT_THAT(Read(file), ElementsAre("one", "", large));
  }
}

TEST(RecordReaderTest, ALengthThatLooksLikeGzipIsPlain) {
  const std::string contents(0x8b1f, 'y');
  EXPECT_THAT(Read(RecordBytes(contents)), ElementsAre(contents));
}

TEST(RecordReaderTest, AnEmptyFileHasNoRecords) { EXPECT_THAT(Read(""), ElementsAre()); }

TEST(RecordReaderTest, ADamagedRecordIsOneAndTheNextIsRead) {
  std::string bytes = RecordBytes("one") + RecordBytes("two");
  bytes[12] ^= 1;
  EXPECT_THAT(Read(bytes), ElementsAre("!its checksum is wrong: the file is damaged", "two"));
}

TEST(RecordReaderTest, ADamagedLengthEndsTheFile) {
  std::string bytes = RecordBytes("one") + RecordBytes("two") + RecordBytes("three");
  bytes[19] ^= 1;
  EXPECT_THAT(Read(bytes),
              ElementsAre("one", EndsWith("r.tfrecord, record 1 at byte 19: the checksum of its "
                                          "length is wrong: the file is damaged, and the records "
                                          "after it cannot be found")));
}

TEST(RecordReaderTest, ACutLastRecordIsDamaged) {
  const std::string bytes = RecordBytes("one") + RecordBytes("two");
  for (size_t size = 20; size < bytes.size(); ++size) {
    const auto records = Read(bytes.substr(0, size));
    ASSERT_EQ(records.size(), 2u);
    EXPECT_THAT(records[1], HasSubstr("!it is cut off: "));
  }
}

TEST(RecordReaderTest, OtherFilesAndHugeRecordsAreRefused) {
  for (const std::string& bytes : {std::string("id,name\n1,a\n"), std::string("x")}) {
    EXPECT_THAT(Read(bytes), ElementsAre(HasSubstr("not a TFRecord file, or damaged")));
  }
  EXPECT_THAT(Read(RecordBytes(std::string((64 << 20) + 1, 'x'))),
              ElementsAre(HasSubstr("it has 67108865 bytes, at most 67108864 are read")));
  EXPECT_THAT(Read(Gzip(RecordBytes("one")).substr(0, 20)), ElementsAre(HasSubstr("cut off")));
}

}  // namespace
}  // namespace cairn::worker
