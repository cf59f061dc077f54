#include "worker/data/images/image_decoder.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/worker/data/images/image_bytes.h"

namespace cairn::worker {
namespace {

using cairn::testing::JpegBytes;
using cairn::testing::PngBytes;

std::string Error(const std::string& bytes) {
  return std::string(DecodeImage(bytes, 3).status().message());
}

TEST(ImageDecoderTest, TheFirstBytesDecide) {
  const std::string pixels(12, '\x55');
  for (const std::string& bytes : {PngBytes(2, 2, 3, pixels), JpegBytes(2, 2, 3, pixels)}) {
    const auto image = DecodeImage(bytes, 3);
    ASSERT_TRUE(image.ok()) << image.status();
    EXPECT_EQ(image->pixels, pixels);
  }
}

TEST(ImageDecoderTest, OtherFilesAreNamed) {
  EXPECT_EQ(Error(""), "it is empty");
  EXPECT_EQ(Error("GIF89a..."), "it is a GIF image; convert it to JPEG or PNG");
  EXPECT_EQ(Error("BM..."), "it is a BMP image; convert it to JPEG or PNG");
  EXPECT_EQ(Error("text"), "it is not a JPEG or PNG image");
}

}  // namespace
}  // namespace cairn::worker
