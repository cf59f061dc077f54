#include "worker/data/images/image_decoder.h"

#include "absl/strings/str_cat.h"
#include "worker/data/images/jpeg_decoder.h"
#include "worker/data/images/png_decoder.h"

namespace cairn::worker {
namespace {

// The first bytes of other formats, for messages.
struct Format {
  std::string_view head;
  const char* name;
};
constexpr Format kOthers[] = {
    {"GIF8", "a GIF"}, {"BM", "a BMP"}, {"RIFF", "a WebP"}, {"II*", "a TIFF"}, {"MM", "a TIFF"}};

}  // namespace

absl::StatusOr<Image> DecodeImage(std::string_view bytes, int channels, int64_t pixels_max) {
  if (bytes.empty()) return absl::InvalidArgumentError("it is empty");
  if (bytes.starts_with("\xff\xd8\xff")) return DecodeJpeg(bytes, channels, pixels_max);
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return DecodePng(bytes, channels, pixels_max);
  for (const Format& other : kOthers) {
    if (!bytes.starts_with(other.head)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("it is ", other.name, " image; convert it to JPEG or PNG"));
  }
  return absl::InvalidArgumentError("it is not a JPEG or PNG image");
}

}  // namespace cairn::worker
