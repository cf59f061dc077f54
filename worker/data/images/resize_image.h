#ifndef CAIRN_WORKER_DATA_IMAGES_RESIZE_IMAGE_H_
#define CAIRN_WORKER_DATA_IMAGES_RESIZE_IMAGE_H_

#include <cstdint>
#include <string>

#include "nn/layers/resize_method.h"
#include "worker/data/images/image.h"

namespace cairn::worker {

// What images of any size become.
struct ImageTarget {
  enum class Aspect {
    kStretch,  // The whole image, with another aspect ratio.
    kCrop,     // Its largest middle part that has the target's aspect ratio.
    kPad,      // The whole image in the middle of the target, and zeros around it.
  };
  int64_t height = 0;
  int64_t width = 0;
  int channels = 0;
  nn::ResizeMethod method = nn::ResizeMethod::kBilinear;
  Aspect aspect = Aspect::kStretch;

  int64_t elements() const { return height * width * channels; }
  // Whether the pixels of a resized image are pixels of the image.
  bool is_nearest() const { return method == nn::ResizeMethod::kNearest; }
};

// The elements of a resized image (height, width, channels), as bytes if all of them are whole
// numbers because of the method or because the size stays. Otherwise float32.
struct ResizedImage {
  bool is_float = false;
  std::string data;
};

// Resizes an image with the target's channels as Keras's image_dataset_from_directory does: by
// TensorFlow's resize with half-pixel centers and without antialiasing, in the same float32
// arithmetic. An image has at least one row and one column after it was resized; TensorFlow fails
// where kPad leaves none.
ResizedImage ResizeImage(const Image& image, const ImageTarget& target);

// As ResizeImage, of an image of floats with the target's channels. `out` has target.elements()
// floats, which are zero.
void ResizeFloats(const float* pixels, int64_t height, int64_t width, const ImageTarget& target,
                  float* out);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_IMAGES_RESIZE_IMAGE_H_
