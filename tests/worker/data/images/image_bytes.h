#ifndef CAIRN_TESTS_WORKER_DATA_IMAGES_IMAGE_BYTES_H_
#define CAIRN_TESTS_WORKER_DATA_IMAGES_IMAGE_BYTES_H_

#include <cstdint>
#include <string>

namespace cairn::testing {

// The bytes of image files whose pixels are (height, width, channels), 8 bits each.

// 1 gray, 3 RGB or 4 RGB with alpha.
std::string PngBytes(int height, int width, int channels, const std::string& pixels);

// 1 gray, 3 RGB or 4 CMYK.
std::string JpegBytes(int height, int width, int channels, const std::string& pixels,
                      bool is_progressive = false);

// Writes the size into the header of PngBytes, with its checksum, or of JpegBytes.
void SetPngSize(uint32_t height, uint32_t width, std::string* png);
void SetJpegSize(uint16_t height, uint16_t width, std::string* jpeg);

}  // namespace cairn::testing

#endif  // CAIRN_TESTS_WORKER_DATA_IMAGES_IMAGE_BYTES_H_
