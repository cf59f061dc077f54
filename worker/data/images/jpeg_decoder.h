#ifndef CAIRN_WORKER_DATA_IMAGES_JPEG_DECODER_H_
#define CAIRN_WORKER_DATA_IMAGES_JPEG_DECODER_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "worker/data/images/image.h"

namespace cairn::worker {

// Decodes a JPEG file to 1 or 3 channels with libjpeg-turbo, as TensorFlow's decode_image does:
// - The inverse DCT is the fast one (JDCT_IFAST), with smooth upsampling of colors.
// - Gray from color is the luminance that the file stores. Gray files have three equal channels.
// - CMYK becomes RGB without a color profile. It has no gray.
// - The orientation in EXIF is ignored: pixels stay as they are stored.
// A file that ends too early is an error. JPEG has no checksum, so other damage may go unnoticed.
// InvalidArgument: the reason why the bytes are not decoded.
absl::StatusOr<Image> DecodeJpeg(std::string_view bytes, int channels,
                                 int64_t pixels_max = kPixelsMax);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_IMAGES_JPEG_DECODER_H_
