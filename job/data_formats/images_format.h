#ifndef CAIRN_JOB_DATA_FORMATS_IMAGES_FORMAT_H_
#define CAIRN_JOB_DATA_FORMATS_IMAGES_FORMAT_H_

#include <cstdint>

#include "job/data_formats/data_format.h"

namespace cairn::job {

// Folders of JPEG and PNG files.
DataFormat ImagesFormat();

// The form of images of a shape: (height, width, channels), or (height, width) for grayscale.
struct ImageForm {
  int64_t height = 0;
  int64_t width = 0;
  int channels = 0;
};

// InvalidArgument, without the name of what has the shape: it is not that of images.
absl::StatusOr<ImageForm> ImageFormOf(const nn::Shape& shape);

}  // namespace cairn::job

#endif  // CAIRN_JOB_DATA_FORMATS_IMAGES_FORMAT_H_
