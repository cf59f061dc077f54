#include "tests/worker/data/images/image_bytes.h"

#include <stdio.h>

// After stdio.h, which it needs.
#include <jpeglib.h>
#include <stdlib.h>
#include <zlib.h>

#include <vector>

namespace cairn::testing {
namespace {

// Writes a big-endian number of `count` bytes.
void Store(uint32_t value, int count, char* to) {
  for (int i = 0; i < count; ++i) to[i] = static_cast<char>(value >> (8 * (count - 1 - i)));
}

uint32_t Checksum(const char* bytes, size_t count) {
  return static_cast<uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(bytes), static_cast<uInt>(count)));
}

// A chunk of a PNG file.
std::string Chunk(const std::string& type, const std::string& data) {
  std::string ends(8, '\0');
  Store(static_cast<uint32_t>(data.size()), 4, ends.data());
  Store(Checksum((type + data).data(), type.size() + data.size()), 4, ends.data() + 4);
  return ends.substr(0, 4) + type + data + ends.substr(4);
}

}  // namespace

std::string PngBytes(int height, int width, int channels, const std::string& pixels) {
  const char color_type = channels == 1 ? 0 : channels == 3 ? 2 : 6;
  std::string header(13, '\0');
  Store(width, 4, header.data());
  Store(height, 4, header.data() + 4);
  header[8] = 8;  // Bits.
  header[9] = color_type;
  std::string rows;
  const size_t row_bytes = static_cast<size_t>(width) * channels;
  for (int i = 0; i < height; ++i) rows += '\0' + pixels.substr(i * row_bytes, row_bytes);
  std::string packed(compressBound(rows.size()), '\0');
  uLongf size = packed.size();
  compress(reinterpret_cast<Bytef*>(packed.data()), &size,
           reinterpret_cast<const Bytef*>(rows.data()), rows.size());
  packed.resize(size);
  return "\x89PNG\r\n\x1a\n" + Chunk("IHDR", header) + Chunk("IDAT", packed) + Chunk("IEND", "");
}

std::string JpegBytes(int height, int width, int channels, const std::string& pixels,
                      bool is_progressive) {
  jpeg_compress_struct info = {};
  jpeg_error_mgr errors = {};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;  // NOLINT: libjpeg's type.
  jpeg_mem_dest(&info, &buffer, &size);
  info.image_height = height;
  info.image_width = width;
  info.input_components = channels;
  info.in_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 100, TRUE);
  if (is_progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  std::vector<unsigned char> copy(pixels.begin(), pixels.end());
  for (int row = 0; row < height; ++row) {
    JSAMPROW at = copy.data() + static_cast<size_t>(row) * width * channels;
    jpeg_write_scanlines(&info, &at, 1);
  }
  jpeg_finish_compress(&info);
  std::string bytes(reinterpret_cast<char*>(buffer), size);
  jpeg_destroy_compress(&info);
  free(buffer);
  return bytes;
}

void SetPngSize(uint32_t height, uint32_t width, std::string* png) {
  // The signature (8), and the length and type of IHDR (4 each) come before the width.
  Store(width, 4, png->data() + 16);
  Store(height, 4, png->data() + 20);
  Store(Checksum(png->data() + 12, 4 + 13), 4, png->data() + 29);
}

void SetJpegSize(uint16_t height, uint16_t width, std::string* jpeg) {
  size_t at = jpeg->find("\xff\xc0");
  if (at == std::string::npos) at = jpeg->find("\xff\xc2");
  // The marker, the length (2 bytes) and the precision come before the height.
  Store(height, 2, jpeg->data() + at + 5);
  Store(width, 2, jpeg->data() + at + 7);
}

}  // namespace cairn::testing
