#include "worker/data/images/jpeg_decoder.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/worker/data/images/image_bytes.h"

namespace cairn::worker {
namespace {

using cairn::testing::JpegBytes;
using cairn::testing::SetJpegSize;
using ::testing::HasSubstr;

// A file of one color, which JPEG stores almost exactly.
std::string Flat(const std::string& pixel, int height = 20, int width = 30) {
  std::string pixels;
  for (int i = 0; i < height * width; ++i) pixels += pixel;
  return JpegBytes(height, width, static_cast<int>(pixel.size()), pixels);
}

// All pixels of the image are this one, but for the rounding of colors.
void ExpectFlat(const std::string& bytes, const std::string& pixel) {
  const auto image = DecodeJpeg(bytes, static_cast<int>(pixel.size()));
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_EQ(image->height, 20);
  EXPECT_EQ(image->width, 30);
  ASSERT_EQ(image->pixels.size(), 600 * pixel.size());
  for (size_t i = 0; i < image->pixels.size(); ++i) {
    EXPECT_NEAR(static_cast<unsigned char>(image->pixels[i]),
                static_cast<unsigned char>(pixel[i % pixel.size()]), 2);
  }
}

std::string Error(const std::string& bytes, int channels = 3) {
  return std::string(DecodeJpeg(bytes, channels).status().message());
}

TEST(JpegDecoderTest, ColorAndGrayBecomeEachOther) {
  ExpectFlat(Flat("\xc8\x64\x32"), "\xc8\x64\x32");
  ExpectFlat(Flat("\x80"), "\x80\x80\x80");
  ExpectFlat(Flat("\x80"), "\x80");
  // 0.299 * 200 + 0.587 * 100 + 0.114 * 50 = 124.2
  ExpectFlat(Flat("\xc8\x64\x32"), "\x7c");
}

TEST(JpegDecoderTest, CmykIsMultipliedByTheBlackInk) {
  // Adobe's files store 255 - ink: 200 * 153 / 255 = 120, 100 * 153 / 255 = 60, 50 * ... = 30.
  ExpectFlat(Flat("\xc8\x64\x32\x99"), "\x78\x3c\x1e");
  EXPECT_THAT(Error(Flat("\xc8\x64\x32\x99"), 1), HasSubstr("a CMYK image has no grayscale"));
}

TEST(JpegDecoderTest, ProgressiveFilesAreRead) {
  std::string pixels(3 * 600, '\x40');
  ExpectFlat(JpegBytes(20, 30, 3, pixels, /*is_progressive=*/true), "\x40\x40\x40");
}

TEST(JpegDecoderTest, TruncatedAndDamagedFilesAreErrors) {
  const std::string good = Flat("\xc8\x64\x32");
  for (size_t size = 3; size < good.size(); ++size) {
    EXPECT_FALSE(DecodeJpeg(good.substr(0, size), 3).ok()) << size;
  }
  EXPECT_EQ(Error(good.substr(0, good.size() - 1)),
            "the JPEG image is damaged: Premature end of input file");
  EXPECT_THAT(Error("not a JPEG image"), HasSubstr("the JPEG image is damaged: Not a JPEG file"));
}

TEST(JpegDecoderTest, HugeImagesAreRefusedBeforeTheyAreDecoded) {
  std::string bomb = Flat("\x80");
  SetJpegSize(65000, 65000, &bomb);
  EXPECT_EQ(Error(bomb), "the JPEG image has 65000 x 65000 pixels, at most 100000000 are decoded");
}

TEST(JpegDecoderTest, ThereIsNoAlphaChannel) {
  EXPECT_THAT(Error(Flat("\x80"), 4), HasSubstr("a JPEG image has no alpha channel"));
}

}  // namespace
}  // namespace cairn::worker
