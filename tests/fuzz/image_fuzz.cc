// JPEG and PNG images, decoded to all numbers of channels and resized.

#include <cstdint>
#include <string>

#include "common/check.h"
#include "tests/fuzz/fuzz_target.h"
#include "worker/data/images/image_decoder.h"
#include "worker/data/images/resize_image.h"

namespace cairn::fuzz {
namespace {

// Small, for the speed of the test.
constexpr int64_t kPixels = 1 << 18;

void CheckSizes(const worker::Image& image, int channels) {
  using Aspect = worker::ImageTarget::Aspect;
  CAIRN_CHECK(image.channels == channels);
  CAIRN_CHECK(image.height > 0 && image.width > 0 && image.height * image.width <= kPixels);
  CAIRN_CHECK(static_cast<int64_t>(image.pixels.size()) == image.height * image.width * channels);
  for (const Aspect aspect : {Aspect::kStretch, Aspect::kCrop, Aspect::kPad}) {
    for (const std::string& name : nn::ResizeMethodNames()) {
      const worker::ImageTarget target{5, 7, channels, *nn::ResizeMethodNamed(name), aspect};
      const worker::ResizedImage resized = worker::ResizeImage(image, target);
      const int64_t element = resized.is_float ? sizeof(float) : 1;
      CAIRN_CHECK(static_cast<int64_t>(resized.data.size()) == target.elements() * element);
    }
  }
}

}  // namespace

bool RunInput(std::string_view input) {
  bool is_decoded = false;
  for (const int channels : {1, 3, 4}) {
    const auto image = worker::DecodeImage(input, channels, kPixels);
    if (!image.ok()) continue;
    CheckSizes(*image, channels);
    is_decoded = true;
  }
  return is_decoded;
}

}  // namespace cairn::fuzz
