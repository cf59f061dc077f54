#ifndef CAIRN_WORKER_DATA_IMAGES_IMAGE_DECODER_H_
#define CAIRN_WORKER_DATA_IMAGES_IMAGE_DECODER_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "worker/data/images/image.h"

namespace cairn::worker {

// Decodes a JPEG or PNG file to so many channels (1, 3 or 4), as TensorFlow's decode_image does.
// The first bytes decide which of the two it is. JpegDecoder and PngDecoder describe the
// conversions. Images with more than `pixels_max` pixels are refused before they are
// decoded. InvalidArgument: the reason why the bytes are not decoded.
absl::StatusOr<Image> DecodeImage(std::string_view bytes, int channels,
                                  int64_t pixels_max = kPixelsMax);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_IMAGES_IMAGE_DECODER_H_
