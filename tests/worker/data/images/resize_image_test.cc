#include "worker/data/images/resize_image.h"

#include <cstring>
#include <vector>

#include "gtest/gtest.h"

namespace cairn::worker {
namespace {

using nn::ResizeMethod;
using Aspect = ImageTarget::Aspect;

// An image of one channel whose pixel (y, x) is 10 y + x.
Image Ramp(int64_t height, int64_t width) {
  Image image{height, width, 1, ""};
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) image.pixels += static_cast<char>(10 * y + x);
  }
  return image;
}

std::vector<float> Resized(const Image& image, const ImageTarget& target) {
  const ResizedImage resized = ResizeImage(image, target);
  std::vector<float> values(target.elements());
  if (resized.is_float) {
    EXPECT_EQ(resized.data.size(), values.size() * sizeof(float));
    std::memcpy(values.data(), resized.data.data(), resized.data.size());
  } else {
    EXPECT_EQ(resized.data.size(), values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<unsigned char>(resized.data[i]);
    }
  }
  return values;
}

TEST(ResizeImageTest, AnImageOfTheSizeStaysInBytes) {
  const Image image = Ramp(2, 3);
  for (const Aspect aspect : {Aspect::kStretch, Aspect::kCrop, Aspect::kPad}) {
    const ImageTarget target{.height = 2, .width = 3, .channels = 1, .aspect = aspect};
    EXPECT_FALSE(ResizeImage(image, target).is_float);
    EXPECT_EQ(ResizeImage(image, target).data, image.pixels);
  }
}

// Between pixel centers a ramp stays a ramp; outside of them it is constant.
TEST(ResizeImageTest, BilinearHasHalfPixelCenters) {
  EXPECT_EQ(Resized(Ramp(1, 4), {.height = 1, .width = 2, .channels = 1}),
            (std::vector<float>{0.5, 2.5}));
  EXPECT_EQ(Resized(Ramp(1, 2), {.height = 1, .width = 4, .channels = 1}),
            (std::vector<float>{0, 0.25, 0.75, 1}));
  EXPECT_EQ(Resized(Ramp(2, 2), {.height = 1, .width = 1, .channels = 1}),
            (std::vector<float>{5.5}));
}

TEST(ResizeImageTest, NearestKeepsPixels) {
  EXPECT_EQ(Resized(Ramp(1, 5),
                    {.height = 1, .width = 2, .channels = 1, .method = ResizeMethod::kNearest}),
            (std::vector<float>{1, 3}));
  EXPECT_EQ(Resized(Ramp(1, 2),
                    {.height = 1, .width = 4, .channels = 1, .method = ResizeMethod::kNearest}),
            (std::vector<float>{0, 0, 1, 1}));
}

TEST(ResizeImageTest, OtherMethodsWeightMorePixels) {
  // As tf.image.resize. A gaussian changes an image of the size, too.
  const ImageTarget area{.height = 1, .width = 3, .channels = 1, .method = ResizeMethod::kArea};
  const std::vector<float> means = Resized(Ramp(3, 5), area);
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(means[i], std::vector({10.4, 12.0, 13.6})[i], 1e-5);
  ImageTarget same{.height = 1, .width = 2, .channels = 1, .method = ResizeMethod::kBicubic};
  EXPECT_FALSE(ResizeImage(Ramp(1, 2), same).is_float);
  same.method = ResizeMethod::kGaussian;
  EXPECT_NEAR(Resized(Ramp(1, 2), same)[0], 0.119203, 1e-6);
}

TEST(ResizeImageTest, TheMiddleIsCropped) {
  // 2 x 6 to 1 x 1: the pixels (0..1, 2..3).
  EXPECT_EQ(Resized(Ramp(2, 6), {.height = 1, .width = 1, .channels = 1, .aspect = Aspect::kCrop}),
            (std::vector<float>{7.5}));
}

TEST(ResizeImageTest, ZerosArePaddedAround) {
  // 2 x 4 to 4 x 4: a row of zeros above and below.
  EXPECT_EQ(Resized(Ramp(2, 4), {.height = 4, .width = 4, .channels = 1, .aspect = Aspect::kPad}),
            (std::vector<float>{0, 0, 0, 0, 0, 1, 2, 3, 10, 11, 12, 13, 0, 0, 0, 0}));
}

TEST(ResizeImageTest, ExtremeShapesHaveAPixel) {
  for (const Aspect aspect : {Aspect::kStretch, Aspect::kCrop, Aspect::kPad}) {
    const ImageTarget target{.height = 3, .width = 3, .channels = 1, .aspect = aspect};
    EXPECT_EQ(Resized(Ramp(1, 1000), target).size(), 9u);
    EXPECT_EQ(Resized(Ramp(1000, 1), target).size(), 9u);
    EXPECT_EQ(Resized(Ramp(1, 1), target).size(), 9u);
  }
}

}  // namespace
}  // namespace cairn::worker
