#include "cluster/frame.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <cstring>
#include <initializer_list>
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

// Opens the frame of two tensors and reads both. Returns the first error.
absl::Status ReadWhole(Frame frame, size_t first, size_t second) {
  proto::PullReplyHeader header;
  auto reader = FrameReader::Open(std::move(frame), &header);
  if (!reader.ok()) return reader.status();
  std::vector<float> out_first(first), out_second(second);
  absl::Status status = reader->Read(absl::MakeSpan(out_first));
  status.Update(reader->Read(absl::MakeSpan(out_second)));
  status.Update(reader->ExpectEnd());
  return status;
}

TEST(FrameTest, TensorsRoundTrip) {
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

template <typename Number>
std::string BytesOf(std::initializer_list<Number> numbers) {
  std::string bytes;
  for (Number number : numbers)
    bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
  return bytes;
}

// Compares with the documented layout, built by hand.
TEST(FrameTest, LayoutIsPrefixHeaderTableChecksumTensors) {
  const std::vector<float> values = {1.0f};
  const std::string bytes = SomeFrame(values, {}).ToBytes();
  const std::string header = SomeHeader().SerializeAsString();
  const std::string tensor("\0\0\x80\x3f", 4);
  const std::string head =
      "Cir2" + BytesOf<uint32_t>({static_cast<uint32_t>(header.size())}) + BytesOf<uint64_t>({4}) +
      BytesOf<uint32_t>({2, 0}) + BytesOf<uint64_t>({0, 0, 0, 0}) + header +
      BytesOf<uint64_t>({4, XXH3_64bits(tensor.data(), 4), 0, XXH3_64bits(nullptr, 0)});
  EXPECT_EQ(bytes, head + BytesOf<uint64_t>({XXH3_64bits(head.data(), head.size())}) + tensor);
}

TEST(FrameTest, OwnedPiecesAreReferencedUntilTheFrameIsDestroyed) {
  auto owner = std::make_shared<std::vector<float>>(Numbers(100000));
  std::weak_ptr<std::vector<float>> watched = owner;
  {
    auto frame = EncodeFrame(SomeHeader(), {FramePiece::OfFloats(*owner, owner)});
    ASSERT_TRUE(frame.ok());
    (*owner)[5] = -1;  // The frame references the memory, so its checksum is now wrong.
    owner.reset();
    EXPECT_FALSE(watched.expired());
    proto::PullReplyHeader header;
    auto reader = FrameReader::Open(*frame, &header);
    ASSERT_TRUE(reader.ok());
    std::vector<float> out(100000);
    EXPECT_TRUE(absl::IsDataLoss(reader->Read(absl::MakeSpan(out))));
  }
  EXPECT_TRUE(watched.expired());
}

TEST(FrameTest, BorrowedPiecesAreCopied) {
  std::vector<float> first = Numbers(100000), second = {3.0f};
  const auto frame =
      EncodeFrame(SomeHeader(), {FramePiece::Borrowed(first), FramePiece::Borrowed(second)});
  ASSERT_TRUE(frame.ok());
  first.assign(first.size(), -1.0f);
  second = {};
  EXPECT_TRUE(ReadWhole(*frame, 100000, 1).ok());
}

TEST(FrameTest, EveryTruncationIsRefused) {
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

TEST(FrameTest, EveryFlippedBitIsRefused) {
  const std::string bytes = SomeFrame(Numbers(20), Numbers(1)).ToBytes();
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string changed = bytes;
    changed[bit / 8] ^= 1 << (bit % 8);
    // A sender repeats what was damaged in transit.
    const absl::Status status = ReadWhole(Frame::FromBytes(changed), 20, 1);
    EXPECT_TRUE(absl::IsDataLoss(status)) << bit << ": " << status;
  }
}

TEST(FrameTest, RandomBytesAreRefused) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(random() % 200, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    if (round % 2 == 0) bytes = "Cir2" + bytes;
    proto::PushHeader header;
    EXPECT_FALSE(FrameReader::Open(Frame::FromBytes(bytes), &header).ok());
  }
}

TEST(FrameTest, LengthsNearTheLimitsOfTheirTypesAreRefused) {
  for (uint64_t payload : {~uint64_t{0}, ~uint64_t{0} - 15, uint64_t{1} << 63, uint64_t{1} << 32}) {
    for (uint32_t header_bytes : {0u, 16u, ~0u}) {
      for (uint32_t tensors : {0u, 1u, ~0u}) {
        std::string bytes(128, '\0');
        std::memcpy(bytes.data(), "Cir2", 4);
        std::memcpy(bytes.data() + 4, &header_bytes, 4);
        std::memcpy(bytes.data() + 8, &payload, 8);
        std::memcpy(bytes.data() + 16, &tensors, 4);
        proto::PushHeader header;
        EXPECT_FALSE(FrameReader::Open(Frame::FromBytes(bytes), &header).ok());
      }
    }
  }
}

TEST(FrameTest, AReadOfAnotherSizeReadsNothing) {
  const std::vector<float> values = Numbers(4);
  proto::PullReplyHeader header;
  auto reader =
      FrameReader::Open(*EncodeFrame(SomeHeader(), {FramePiece::Borrowed(values)}), &header);
  ASSERT_TRUE(reader.ok());
  std::vector<float> three(3, 9.0f), four(4), five(5, 9.0f);
  EXPECT_TRUE(absl::IsInvalidArgument(reader->Read(absl::MakeSpan(five))));
  EXPECT_TRUE(absl::IsInvalidArgument(reader->Read(absl::MakeSpan(three))));
  EXPECT_EQ(five, std::vector<float>(5, 9.0f));
  EXPECT_EQ(three, std::vector<float>(3, 9.0f));
  EXPECT_TRUE(reader->Read(absl::MakeSpan(four)).ok());
  EXPECT_EQ(four, values);
  EXPECT_TRUE(absl::IsInvalidArgument(reader->Read(absl::MakeSpan(four))));
}

// Two mappings of the same memory in one process, as two processes would have them.
class SharedFrameTest : public ::testing::Test {
 protected:
  Frame Make(const FrameRoom& room) const {
    return *EncodeFrame(
        SomeHeader(),
        {FramePiece::OfFloats(first_, nullptr), FramePiece::OfFloats(second_, nullptr)}, room);
  }
  // The frame as the peer receives it.
  Frame Received(const Frame& frame) const {
    return Frame(frame.buffer(),
                 [this](uint64_t token) { return token == theirs_->token() ? theirs_ : nullptr; });
  }

  const std::vector<float> first_ = Numbers(1000), second_ = Numbers(3);
  const std::shared_ptr<SharedMemory> ours_ = *SharedMemory::Create(7, 8192);
  const std::shared_ptr<SharedMemory> theirs_ = *SharedMemory::Adopt(7, ours_->descriptor());
};

TEST_F(SharedFrameTest, TensorsAreInSharedMemoryAndOnlyTheHeadInTheFrame) {
  const Frame frame = Received(Make({.payload = {ours_, 64, 4096}}));
  EXPECT_LT(frame.bytes(), 200u);
  EXPECT_EQ(std::memcmp(theirs_->data() + 64, first_.data(), 4000), 0);
  proto::PullReplyHeader header;
  auto reader = FrameReader::Open(frame, &header);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ(reader->bytes_left(), 4012u);
  std::vector<float> out_first(1000), out_second(3);
  ASSERT_TRUE(reader->Read(absl::MakeSpan(out_first)).ok());
  ASSERT_TRUE(reader->Read(absl::MakeSpan(out_second)).ok());
  EXPECT_EQ(out_first, first_);
  EXPECT_EQ(out_second, second_);
  EXPECT_TRUE(reader->ExpectEnd().ok());
}

TEST_F(SharedFrameTest, TensorsThatDoNotFitAreInTheFrame) {
  for (const SharedSpan& room : {SharedSpan{ours_, 0, 4008}, SharedSpan{ours_, 8000, 4096}}) {
    const Frame frame = Make({.payload = room});
    EXPECT_GT(frame.bytes(), 4012u);
    EXPECT_TRUE(ReadWhole(frame, 1000, 3).ok());
  }
}

TEST_F(SharedFrameTest, TheReplyRoomIsReadIfItIsInside) {
  proto::PullReplyHeader header;
  const Frame offer = Make({.reply = {ours_, 4096, 4096}});
  const auto reader = FrameReader::Open(Received(offer), &header);
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader->reply_room().payload.memory, theirs_);
  EXPECT_EQ(reader->reply_room().payload.offset, 4096u);
  EXPECT_EQ(reader->reply_room().payload.bytes, 4096u);
  const auto stranger = FrameReader::Open(offer, &header);
  ASSERT_TRUE(stranger.ok());
  EXPECT_EQ(stranger->reply_room().payload.memory, nullptr);
}

TEST_F(SharedFrameTest, UnknownMemoryIsATransientError) {
  const Frame frame = Make({.payload = {ours_, 0, 8192}});
  proto::PullReplyHeader header;
  EXPECT_TRUE(absl::IsDataLoss(FrameReader::Open(frame, &header).status()));
}

TEST_F(SharedFrameTest, EveryChangedByteOfSharedTensorsIsRefused) {
  const Frame frame = Received(Make({.payload = {ours_, 0, 8192}}));
  ASSERT_TRUE(ReadWhole(frame, 1000, 3).ok());
  for (size_t at = 0; at < 4012; ++at) {
    ours_->data()[at] ^= 1;
    EXPECT_TRUE(absl::IsDataLoss(ReadWhole(frame, 1000, 3))) << at;
    ours_->data()[at] ^= 1;
  }
  EXPECT_TRUE(ReadWhole(frame, 1000, 3).ok());
}

TEST_F(SharedFrameTest, ASpanOutsideOfTheMemoryIsRefused) {
  // The sender refers to more memory than the receiver has.
  const auto larger = *SharedMemory::Create(7, 1 << 20);
  const Frame frame = Make({.payload = {larger, 8192 - 4000, 8192}});
  EXPECT_TRUE(absl::IsDataLoss(ReadWhole(Received(frame), 1000, 3)));
}

TEST(FrameTest, FrameThatIsTooLargeIsNotEncoded) {
  const float value = 0;
  FramePiece piece;
  piece.data = &value;
  piece.bytes = kFrameBytesMax;  // Not read, because the size is checked first.
  EXPECT_TRUE(absl::IsInvalidArgument(EncodeFrame(SomeHeader(), {piece}).status()));
}

TEST(FrameTest, AHeaderOfAnotherTypeIsRefusedWithTheTypesName) {
  proto::Envelope envelope;
  // As packed numbers (PullReplyHeader.versions), the last one is incomplete.
  envelope.set_version("\xc3\xa9");
  auto frame = EncodeFrame(envelope, {});
  ASSERT_TRUE(frame.ok());
  proto::PullReplyHeader header;
  EXPECT_EQ(FrameReader::Open(*frame, &header).status(),
            absl::InvalidArgumentError(
                "a frame's header of 4 bytes is not a cairn.proto.PullReplyHeader"));
}

TEST(FrameTest, WithinAProcessTensorsAreReferencedAndCopiedOnce) {
  const std::vector<float> first = Numbers(1000), second = Numbers(3);
  proto::PullReplyHeader header;
  header.add_versions(7);
  const auto frame = EncodeFrame(
      header, {FramePiece::Borrowed(first), FramePiece::Borrowed({}), FramePiece::Borrowed(second)},
      {.in_process = true});
  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_EQ(frame->parts()->pieces[0].data, first.data());
  header.Clear();
  auto reader = FrameReader::Open(*frame, &header);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ(header.versions(0), 7);
  EXPECT_TRUE(reader->reply_room().in_process);
  EXPECT_EQ(reader->bytes_left(), 4012u);
  std::vector<float> out_first(1000), out_second(3);
  EXPECT_TRUE(absl::IsInvalidArgument(reader->Read(absl::MakeSpan(out_second))));
  EXPECT_TRUE(reader->Read(absl::MakeSpan(out_first)).ok());
  EXPECT_TRUE(reader->Read({}).ok());
  EXPECT_FALSE(reader->ExpectEnd().ok());
  EXPECT_TRUE(reader->Read(absl::MakeSpan(out_second)).ok());
  EXPECT_EQ(out_first, first);
  EXPECT_EQ(out_second, second);
  EXPECT_TRUE(reader->ExpectEnd().ok());
  EXPECT_TRUE(absl::IsInvalidArgument(reader->Read({})));
}

}  // namespace
}  // namespace cairn::cluster
