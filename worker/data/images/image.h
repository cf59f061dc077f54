#ifndef CAIRN_WORKER_DATA_IMAGES_IMAGE_H_
#define CAIRN_WORKER_DATA_IMAGES_IMAGE_H_

#include <cstdint>
#include <string>

namespace cairn::worker {

// A decoded image: 8 bits per channel, rows from the top, (height, width, channels).
struct Image {
  int64_t height = 0;
  int64_t width = 0;
  int channels = 0;  // 1 gray, 3 RGB, 4 RGB with alpha.
  std::string pixels;
};

// Images with more pixels are refused before they are decoded. A file of some kilobytes can declare
// far more than memory has.
inline constexpr int64_t kPixelsMax = 100'000'000;

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_IMAGES_IMAGE_H_
