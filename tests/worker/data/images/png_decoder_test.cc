#include "worker/data/images/png_decoder.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/worker/data/images/image_bytes.h"

namespace cairn::worker {
namespace {

using cairn::testing::PngBytes;
using cairn::testing::SetPngSize;
using ::testing::HasSubstr;

// 2 x 3 pixels.
const std::string kGray = "\x01\x02\x03\x10\x20\xff";
const std::string kColor =
    "\xff\x01\x01\x01\xff\x01\x01\x01\xff\x09\x09\x09\x64\x64\x64\x01\x02\x03";

std::string Pixels(const std::string& bytes, int channels) {
  const auto image = DecodePng(bytes, channels);
  EXPECT_TRUE(image.ok()) << image.status();
  if (!image.ok()) return "";
  EXPECT_EQ(image->height, 2);
  EXPECT_EQ(image->width, 3);
  return image->pixels;
}

std::string Error(const std::string& bytes) {
  return std::string(DecodePng(bytes, 3).status().message());
}

TEST(PngDecoderTest, PixelsAreThoseOfTheFile) {
  EXPECT_EQ(Pixels(PngBytes(2, 3, 1, kGray), 1), kGray);
  EXPECT_EQ(Pixels(PngBytes(2, 3, 3, kColor), 3), kColor);
}

TEST(PngDecoderTest, GrayHasThreeEqualChannels) {
  std::string colors;
  for (const char value : kGray) colors += std::string(3, value);
  EXPECT_EQ(Pixels(PngBytes(2, 3, 1, kGray), 3), colors);
}

TEST(PngDecoderTest, ColorBecomesItsLuminance) {
  const std::string gray = Pixels(PngBytes(2, 3, 3, kColor), 1);
  ASSERT_EQ(gray.size(), 6u);
  for (size_t i = 0; i < 6; ++i) {
    const auto value = [&](size_t c) { return static_cast<unsigned char>(kColor[i * 3 + c]); };
    const double luminance = 0.299 * value(0) + 0.587 * value(1) + 0.114 * value(2);
    EXPECT_NEAR(static_cast<unsigned char>(gray[i]), luminance, 1.01);
  }
}

TEST(PngDecoderTest, AlphaIsDroppedKeptOrOpaque) {
  std::string with_alpha;
  for (size_t i = 0; i < 6; ++i) with_alpha += kColor.substr(i * 3, 3) + '\x33';
  EXPECT_EQ(Pixels(PngBytes(2, 3, 4, with_alpha), 4), with_alpha);
  EXPECT_EQ(Pixels(PngBytes(2, 3, 4, with_alpha), 3), kColor);
  std::string opaque;
  for (size_t i = 0; i < 6; ++i) opaque += kColor.substr(i * 3, 3) + '\xff';
  EXPECT_EQ(Pixels(PngBytes(2, 3, 3, kColor), 4), opaque);
}

TEST(PngDecoderTest, TruncatedAndDamagedFilesAreErrors) {
  const std::string good = PngBytes(2, 3, 3, kColor);
  for (size_t size = 8; size < good.size(); ++size) {
    EXPECT_FALSE(DecodePng(good.substr(0, size), 3).ok()) << size;
  }
  EXPECT_EQ(Error(good.substr(0, 60)), "the PNG image is damaged: it is cut off");
  std::string flipped = good;
  flipped[45] ^= 1;
  EXPECT_THAT(Error(flipped), HasSubstr("the PNG image is damaged: "));
  EXPECT_THAT(Error("not a PNG image"), HasSubstr("Not a PNG file"));
}

TEST(PngDecoderTest, HugeImagesAreRefusedBeforeTheyAreDecoded) {
  std::string bomb = PngBytes(2, 3, 1, kGray);
  SetPngSize(2000000000, 2000000000, &bomb);
  EXPECT_EQ(Error(bomb),
            "the PNG image has 2000000000 x 2000000000 pixels, at most 100000000 are decoded");
}

}  // namespace
}  // namespace cairn::worker
