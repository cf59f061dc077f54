#ifndef CAIRN_WORKER_DATA_IMAGES_PNG_DECODER_H_
#define CAIRN_WORKER_DATA_IMAGES_PNG_DECODER_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "worker/data/images/image.h"

namespace cairn::worker {

// Decodes a PNG file to 1, 3 or 4 channels with libpng, as TensorFlow's decode_image does:
// - Of 16 bits the upper 8 are kept. Palettes become RGB; 1, 2 and 4 bits of gray become 8.
// - Gray from color is 0.299 red + 0.587 green + 0.114 blue, in libpng's arithmetic: of the linear
//   intensities if the file has a gamma (chunk gAMA or sRGB), else of the values.
// - Alpha that is not requested is dropped, without a background. Alpha that is requested and
//   missing is the largest value of the file's bit depth: 255 for 8 bits.
// - Gamma is ignored otherwise, and color profiles are.
// Checksums are verified. InvalidArgument: the reason why the bytes are not decoded.
absl::StatusOr<Image> DecodePng(std::string_view bytes, int channels,
                                int64_t pixels_max = kPixelsMax);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_IMAGES_PNG_DECODER_H_
