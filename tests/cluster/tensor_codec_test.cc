#include "cluster/tensor_codec.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>

#include "proto/parameter_server.pb.h"

namespace cairn::cluster {
namespace {

std::vector<float> Numbers(size_t count) {
  std::vector<float> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0.5f);
  return numbers;
}

proto::PullReplyHeader SomeHeader() {
  proto::PullReplyHeader header;
  header.add_versions(7);
  header.add_versions(8);
  return header;
}

Frame SomeFrame(const std::vector<float>& first, const std::vector<float>& second) {
  auto frame = EncodeFrame(
      SomeHeader(), {FramePiece::OfFloats(first, nullptr), FramePiece::OfFloats(second, nullptr)});
  EXPECT_TRUE(frame.ok()) << frame.status();
  return *frame;
}

TEST(TensorCodecTest, TensorsComeOutAsTheyWentIn) {
  const std::vector<float> first = Numbers(1000);
  const std::vector<float> second = Numbers(3);
  proto::PullReplyHeader header;
  auto reader = FrameReader::Open(SomeFrame(first, second), &header);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ(header.versions(0), 7);
  EXPECT_EQ(header.versions(1), 8);
  std::vector<float> out_first(1000), out_second(3);
  EXPECT_EQ(reader->bytes_left(), 1003 * sizeof(float));
  ASSERT_TRUE(reader->Read(absl::MakeSpan(out_first)).ok());
  EXPECT_FALSE(reader->ExpectEnd().ok());
  ASSERT_TRUE(reader->Read(absl::MakeSpan(out_second)).ok());
  EXPECT_TRUE(reader->ExpectEnd().ok());
  EXPECT_EQ(out_first, first);
  EXPECT_EQ(out_second, second);
}

// The layout, spelled out once more by hand.
TEST(TensorCodecTest, LayoutIsPrefixHeaderTensorsChecksum) {
  const std::vector<float> values = {1.0f};
  const std::string bytes = SomeFrame(values, {}).ToBytes();
  const std::string header = SomeHeader().SerializeAsString();
  ASSERT_EQ(bytes.size(), 16 + header.size() + 4 + 8);
  EXPECT_EQ(bytes.substr(0, 4), "CirF");
  EXPECT_EQ(static_cast<size_t>(bytes[4]), header.size());
  EXPECT_EQ(bytes.substr(5, 3), std::string(3, '\0'));
  EXPECT_EQ(bytes.substr(8, 8), std::string("\4\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(bytes.substr(16, header.size()), header);
  EXPECT_EQ(bytes.substr(16 + header.size(), 4), std::string("\0\0\x80\x3f", 4));
}

TEST(TensorCodecTest, PiecesAreNotCopiedAndKeptUntilTheFrameIsGone) {
  auto owner = std::make_shared<std::vector<float>>(Numbers(100000));
  std::weak_ptr<std::vector<float>> watched = owner;
  {
    auto frame = EncodeFrame(SomeHeader(), {FramePiece::OfFloats(*owner, owner)});
    ASSERT_TRUE(frame.ok());
    (*owner)[5] = -1;  // Seen by the frame, which holds no copy: the checksum is wrong now.
    owner.reset();
    EXPECT_FALSE(watched.expired());
    proto::PullReplyHeader header;
    EXPECT_TRUE(absl::IsDataLoss(FrameReader::Open(*frame, &header).status()));
  }
  EXPECT_TRUE(watched.expired());
}

TEST(TensorCodecTest, EveryTruncationIsRefused) {
  const std::string bytes = SomeFrame(Numbers(20), Numbers(1)).ToBytes();
  for (size_t length = 0; length < bytes.size(); ++length) {
    proto::PullReplyHeader header;
    auto reader = FrameReader::Open(Frame::FromBytes(bytes.substr(0, length)), &header);
    EXPECT_TRUE(absl::IsDataLoss(reader.status())) << length << ": " << reader.status();
  }
  proto::PullReplyHeader header;
  EXPECT_FALSE(FrameReader::Open(Frame::FromBytes(bytes + '\0'), &header).ok());
  EXPECT_FALSE(FrameReader::Open(Frame(), &header).ok());
}

TEST(TensorCodecTest, EveryFlippedBitIsRefused) {
  const std::string bytes = SomeFrame(Numbers(20), Numbers(1)).ToBytes();
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string changed = bytes;
    changed[bit / 8] ^= 1 << (bit % 8);
    proto::PullReplyHeader header;
    EXPECT_FALSE(FrameReader::Open(Frame::FromBytes(changed), &header).ok()) << bit;
  }
}

TEST(TensorCodecTest, RandomBytesAreRefused) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(random() % 200, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    if (round % 2 == 0) bytes = "CirF" + bytes;
    proto::PushHeader header;
    EXPECT_FALSE(FrameReader::Open(Frame::FromBytes(bytes), &header).ok());
  }
}

TEST(TensorCodecTest, AnnouncedLengthsNearTheLimitsOfTheirTypesAreRefused) {
  for (uint64_t payload : {~uint64_t{0}, ~uint64_t{0} - 15, uint64_t{1} << 63, uint64_t{1} << 32}) {
    for (uint32_t header_bytes : {0u, 16u, ~0u}) {
      std::string bytes(64, 'x');
      std::memcpy(bytes.data(), "CirF", 4);
      std::memcpy(bytes.data() + 4, &header_bytes, 4);
      std::memcpy(bytes.data() + 8, &payload, 8);
      proto::PushHeader header;
      EXPECT_FALSE(FrameReader::Open(Frame::FromBytes(bytes), &header).ok());
    }
  }
}

TEST(TensorCodecTest, ReadingMoreThanThereIsReadsNothing) {
  const std::vector<float> values = Numbers(4);
  proto::PullReplyHeader header;
  auto reader = FrameReader::Open(SomeFrame(values, {}), &header);
  ASSERT_TRUE(reader.ok());
  std::vector<float> five(5, 9.0f), four(4);
  EXPECT_TRUE(absl::IsInvalidArgument(reader->Read(absl::MakeSpan(five))));
  EXPECT_EQ(five, std::vector<float>(5, 9.0f));
  EXPECT_TRUE(reader->Read(absl::MakeSpan(four)).ok());
  EXPECT_EQ(four, values);
}

TEST(TensorCodecTest, FrameThatIsTooLargeIsNotEncoded) {
  const float value = 0;
  FramePiece piece;
  piece.data = &value;
  piece.bytes = kFrameBytesMax;  // Never read: the size is checked first.
  EXPECT_TRUE(absl::IsInvalidArgument(EncodeFrame(SomeHeader(), {piece}).status()));
}

TEST(TensorCodecTest, HeaderOfAnotherTypeIsRefusedByName) {
  proto::Envelope envelope;
  envelope.set_version("\xc3\xa9");  // As numbers (PullReplyHeader.versions): one without an end.
  auto frame = EncodeFrame(envelope, {});
  ASSERT_TRUE(frame.ok());
  proto::PullReplyHeader header;
  EXPECT_EQ(FrameReader::Open(*frame, &header).status(),
            absl::InvalidArgumentError(
                "a frame's header of 4 bytes is not a cairn.proto.PullReplyHeader"));
}

}  // namespace
}  // namespace cairn::cluster
