#include "worker/data/images/jpeg_decoder.h"

#include <stdio.h>

// After stdio.h, which it needs.
#include <jpeglib.h>
// After jpeglib.h.
#include <jerror.h>
#include <setjmp.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace cairn::worker {
namespace {

// A progressive file can repeat scans of the whole image without end.
constexpr int kScansMax = 500;

// libjpeg reports errors by a callback that must not return: it jumps back to Run. Between the two
// are only frames of libjpeg and of functions without objects that have destructors.
class JpegDecoder {
 public:
  JpegDecoder(std::string_view bytes, int channels, int64_t pixels_max)
      : bytes_(bytes), pixels_max_(pixels_max) {
    image_.channels = channels;
    info_.err = jpeg_std_error(&errors_);
    info_.client_data = this;
    errors_.error_exit = Fail;
    errors_.output_message = [](j_common_ptr) {};  // Warnings are not printed.
    progress_.progress_monitor = CheckScans;
  }
  ~JpegDecoder() { jpeg_destroy_decompress(&info_); }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  absl::StatusOr<Image> Run() {
    if (setjmp(escape_) != 0) return absl::InvalidArgumentError(problem_);
    ReadHeader();
    ReadPixels();
    return std::move(image_);
  }

 private:
  static JpegDecoder* Self(j_common_ptr info) {
    return static_cast<JpegDecoder*>(info->client_data);
  }

  [[noreturn]] static void Fail(j_common_ptr info) {
    char reason[JMSG_LENGTH_MAX];
    info->err->format_message(info, reason);
    JpegDecoder* const self = Self(info);
    snprintf(self->problem_, sizeof self->problem_, "the JPEG image is damaged: %s", reason);
    longjmp(self->escape_, 1);
  }

  [[noreturn]] void Refuse(const char* reason) {
    snprintf(problem_, sizeof problem_, "%s", reason);
    longjmp(escape_, 1);
  }

  static void CheckScans(j_common_ptr info) {
    if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= kScansMax) return;
    Self(info)->Refuse("the JPEG image has more than 500 scans");
  }

  // libjpeg's own source continues with an invented end of the file.
  static boolean FailAtEnd(j_decompress_ptr info) {
    ERREXIT(info, JERR_INPUT_EOF);
    return FALSE;
  }

  void ReadHeader() {
    jpeg_create_decompress(&info_);
    info_.progress = &progress_;
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size());
    info_.src->fill_input_buffer = FailAtEnd;
    jpeg_read_header(&info_, TRUE);
    if (int64_t{info_.image_width} * info_.image_height > pixels_max_) {
      snprintf(problem_, sizeof problem_,
               "the JPEG image has %u x %u pixels, at most %lld are decoded", info_.image_height,
               info_.image_width, static_cast<long long>(pixels_max_));
      longjmp(escape_, 1);
    }
    const bool is_cmyk = info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
    if (image_.channels == 4) {
      Refuse("a JPEG image has no alpha channel; use a model whose input has 3 channels");
    }
    if (is_cmyk && image_.channels == 1) {
      Refuse("a CMYK image has no grayscale; convert it to RGB");
    }
    info_.out_color_space = image_.channels == 1 ? JCS_GRAYSCALE : is_cmyk ? JCS_CMYK : JCS_RGB;
    info_.dct_method = JDCT_IFAST;
  }

  void ReadPixels() {
    jpeg_start_decompress(&info_);
    image_.height = info_.output_height;
    image_.width = info_.output_width;
    const size_t row_bytes = static_cast<size_t>(image_.width) * image_.channels;
    image_.pixels.resize(row_bytes * image_.height);
    const bool is_cmyk = info_.out_color_space == JCS_CMYK;
    if (is_cmyk) cmyk_.resize(static_cast<size_t>(image_.width) * 4);
    while (info_.output_scanline < info_.output_height) {
      char* const at = image_.pixels.data() + info_.output_scanline * row_bytes;
      JSAMPROW row = reinterpret_cast<JSAMPROW>(is_cmyk ? cmyk_.data() : at);
      jpeg_read_scanlines(&info_, &row, 1);
      if (is_cmyk) CmykToRgb(row, reinterpret_cast<unsigned char*>(at));
    }
    jpeg_finish_decompress(&info_);
  }

  // Adobe's files store inverted values.
  void CmykToRgb(const unsigned char* cmyk, unsigned char* rgb) const {
    const bool is_inverted = info_.saw_Adobe_marker;
    const auto ink = [=](int value) { return is_inverted ? value : 255 - value; };
    for (int64_t i = 0; i < image_.width; ++i, cmyk += 4, rgb += 3) {
      for (int c = 0; c < 3; ++c) {
        rgb[c] = static_cast<unsigned char>(ink(cmyk[c]) * ink(cmyk[3]) / 255);
      }
    }
  }

  const std::string_view bytes_;
  const int64_t pixels_max_;
  Image image_;
  std::string cmyk_;  // A row.
  char problem_[JMSG_LENGTH_MAX + 64] = "";
  jmp_buf escape_;
  jpeg_error_mgr errors_ = {};
  jpeg_progress_mgr progress_ = {};
  jpeg_decompress_struct info_ = {};
};

}  // namespace

absl::StatusOr<Image> DecodeJpeg(std::string_view bytes, int channels, int64_t pixels_max) {
  return JpegDecoder(bytes, channels, pixels_max).Run();
}

}  // namespace cairn::worker
