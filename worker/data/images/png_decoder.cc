#include "worker/data/images/png_decoder.h"

#include <png.h>
#include <setjmp.h>

#include <cstdio>
#include <cstring>
#include <vector>

namespace cairn::worker {
namespace {

// Chunks whose contents are not used. They may be compressed, and far larger than they look.
constexpr png_byte kSkippedChunks[] = "iCCP\0zTXt\0iTXt\0tEXt\0eXIf\0sPLT\0hIST";
constexpr int kSkippedCount = sizeof kSkippedChunks / 5;

// libpng reports errors by a callback that must not return: it jumps back to Run. Between the two
// are only frames of libpng and of functions without objects that have destructors.
class PngDecoder {
 public:
  PngDecoder(std::string_view bytes, int channels, int64_t pixels_max)
      : bytes_(bytes), pixels_max_(pixels_max) {
    image_.channels = channels;
  }
  ~PngDecoder() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  absl::StatusOr<Image> Run() {
    if (setjmp(escape_) != 0) return absl::InvalidArgumentError(problem_);
    ReadHeader();
    ConvertPixels();
    ReadPixels();
    return std::move(image_);
  }

 private:
  [[noreturn]] static void Fail(png_structp png, png_const_charp reason) {
    auto* const self = static_cast<PngDecoder*>(png_get_error_ptr(png));
    snprintf(self->problem_, sizeof self->problem_, "the PNG image is damaged: %s", reason);
    longjmp(self->escape_, 1);
  }

  [[noreturn]] void Refuse(const char* reason) {
    snprintf(problem_, sizeof problem_, "%s", reason);
    longjmp(escape_, 1);
  }

  static void Read(png_structp png, png_bytep to, size_t count) {
    auto* const self = static_cast<PngDecoder*>(png_get_io_ptr(png));
    if (count > self->bytes_.size()) png_error(png, "it is cut off");
    std::memcpy(to, self->bytes_.data(), count);
    self->bytes_.remove_prefix(count);
  }

  void ReadHeader() {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, Fail, [](auto, auto) {});
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) Refuse("libpng does not start");
    // The limit of pixels_max_ applies below, where the message names them.
    png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, kSkippedChunks, kSkippedCount);
    png_set_read_fn(png_, this, Read);
    png_read_info(png_, info_);
    image_.height = png_get_image_height(png_, info_);
    image_.width = png_get_image_width(png_, info_);
    if (image_.height <= pixels_max_ / image_.width) return;
    snprintf(problem_, sizeof problem_,
             "the PNG image has %lld x %lld pixels, at most %lld are decoded",
             static_cast<long long>(image_.height), static_cast<long long>(image_.width),
             static_cast<long long>(pixels_max_));
    longjmp(escape_, 1);
  }

  // TensorFlow's conversions, in its order.
  void ConvertPixels() {
    const int depth = png_get_bit_depth(png_, info_);
    const int type = png_get_color_type(png_, info_);
    const bool has_transparency = png_get_valid(png_, info_, PNG_INFO_tRNS) != 0;
    const bool is_gray = (type & PNG_COLOR_MASK_COLOR) == 0;
    const bool wants_gray = image_.channels < 3;
    if (image_.channels != 4) {
      png_set_strip_alpha(png_);
    } else if (has_transparency) {
      png_set_tRNS_to_alpha(png_);
    } else if ((type & PNG_COLOR_MASK_ALPHA) == 0) {
      png_set_add_alpha(png_, (1u << depth) - 1, PNG_FILLER_AFTER);
    }
    if (depth > 8) png_set_strip_16(png_);
    png_set_packing(png_);
    if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
    if (is_gray && depth < 8) png_set_expand_gray_1_2_4_to_8(png_);
    if (wants_gray && !is_gray) {
      png_set_rgb_to_gray(png_, PNG_ERROR_ACTION_NONE, 0.299, 0.587);
    } else if (!wants_gray && is_gray) {
      png_set_gray_to_rgb(png_);
    }
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    const size_t row_bytes = static_cast<size_t>(image_.width) * image_.channels;
    if (png_get_rowbytes(png_, info_) != row_bytes) Refuse("the PNG image has other channels");
  }

  void ReadPixels() {
    const size_t row_bytes = static_cast<size_t>(image_.width) * image_.channels;
    image_.pixels.resize(row_bytes * image_.height);
    rows_.resize(image_.height);
    for (int64_t i = 0; i < image_.height; ++i) {
      rows_[i] = reinterpret_cast<png_bytep>(image_.pixels.data() + i * row_bytes);
    }
    png_read_image(png_, rows_.data());
    png_read_end(png_, nullptr);
  }

  std::string_view bytes_;  // That were not read yet.
  const int64_t pixels_max_;
  Image image_;
  std::vector<png_bytep> rows_;
  char problem_[256] = "";
  jmp_buf escape_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace

absl::StatusOr<Image> DecodePng(std::string_view bytes, int channels, int64_t pixels_max) {
  return PngDecoder(bytes, channels, pixels_max).Run();
}

}  // namespace cairn::worker
