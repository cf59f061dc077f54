#include "parameters/snapshots/snapshot_frames.h"

#include <gtest/gtest.h>

#include "tests/parameters/test_peer.h"

namespace cairn::parameters {
namespace {

proto::FetchHeader HeaderFor(const proto::SnapshotPart& part, std::vector<uint32_t> blocks) {
  proto::FetchHeader header;
  header.set_job_id(7);
  header.set_checkpoint(4);
  *header.mutable_part() = part;
  header.mutable_blocks()->Assign(blocks.begin(), blocks.end());
  return header;
}

TEST(SnapshotFramesTest, ARecordHasHeaderAndPayload) {
  TestPeer peer(0, FreshRoot());
  const proto::SnapshotPart part = WriteTestSnapshot(peer.store(), {7, 4}, 0, /*seed=*/0);
  const auto frame = ReadRecords(HeaderFor(part, {4, 6}), peer.catalog());
  ASSERT_TRUE(frame.ok()) << frame.status();
  proto::FetchReplyHeader reply;
  auto reader = cluster::FrameReader::Open(*frame, &reply);
  ASSERT_TRUE(reader.ok()) << reader.status();
  ASSERT_EQ(reply.blocks_size(), 2);
  EXPECT_EQ(reply.blocks(1).block(), 6u);
  EXPECT_EQ(reply.blocks(1).payload_bytes(), 100u);
  for (const std::string& expected :
       {"header 2" + std::string(100, 'c'), "header 3" + std::string(100, 'd')}) {
    std::string bytes(expected.size(), ' ');
    ASSERT_TRUE(reader->ReadBytes(absl::MakeSpan(bytes)).ok());
    EXPECT_EQ(bytes, expected);
  }
  EXPECT_TRUE(reader->ExpectEnd().ok());
}

TEST(SnapshotFramesTest, AReplyIsBoundedAndHasAtLeastOneBlock) {
  TestPeer peer(0, FreshRoot());
  const proto::SnapshotPart part = WriteTestSnapshot(peer.store(), {7, 4}, 0, 1, 8, 3 << 20);
  const auto frame = ReadRecords(HeaderFor(part, {2, 4, 6, 8}), peer.catalog());
  ASSERT_TRUE(frame.ok());
  EXPECT_GT(frame->bytes(), size_t{6} << 20);
  EXPECT_LT(frame->bytes(), size_t{7} << 20);
}

TEST(SnapshotFramesTest, MissingSnapshotsAndBlocksAreNamed) {
  TestPeer peer(3, FreshRoot());
  const proto::SnapshotPart part = WriteTestSnapshot(peer.store(), {7, 4}, 3, 1);
  EXPECT_TRUE(absl::IsInvalidArgument(ReadRecords(HeaderFor(part, {}), peer.catalog()).status()));
  EXPECT_TRUE(absl::IsNotFound(ReadRecords(HeaderFor(part, {3}), peer.catalog()).status()));
  proto::SnapshotPart other = part;
  other.set_ps(1);
  const absl::Status missing = ReadRecords(HeaderFor(other, {2}), peer.catalog()).status();
  EXPECT_NE(missing.message().find("ps 1's part of checkpoint 4 of job 7"), std::string::npos)
      << missing;
}

}  // namespace
}  // namespace cairn::parameters
