#include "nn/layers/resize_method.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/check.h"

namespace cairn::nn {
namespace {

constexpr float kPi = 3.14159265359f;

// Kernels: the weight of a pixel whose center is this far from the sample, in pixels.

float Lanczos(float distance, float radius) {
  if (distance > radius) return 0;
  if (distance <= 1e-3f) return 1;
  return radius * std::sin(kPi * distance) * std::sin(kPi * distance / radius) /
         (kPi * kPi * distance * distance);
}

float Lanczos3(float distance) { return Lanczos(distance, 3); }
float Lanczos5(float distance) { return Lanczos(distance, 5); }

// The standard deviation is 0.5.
float Gaussian(float distance) { return distance < 1.5f ? std::exp(-2 * distance * distance) : 0; }

// The family of D. P. Mitchell and A. N. Netravali, Reconstruction filters in computer graphics,
// SIGGRAPH 1988, equation 8.
float Cubic(float x, float b, float c) {
  if (x >= 2) return 0;
  if (x >= 1) {
    return ((-b - 6 * c) * x * x * x + (6 * b + 30 * c) * x * x + (-12 * b - 48 * c) * x + 8 * b +
            24 * c) /
           6;
  }
  return ((12 - 9 * b - 6 * c) * x * x * x + (-18 + 12 * b + 6 * c) * x * x + 6 - 2 * b) / 6;
}

// R. G. Keys, Cubic convolution interpolation for digital image processing, 1981.
float KeysCubic(float distance) { return Cubic(distance, 0, 0.5f); }
float MitchellCubic(float distance) { return Cubic(distance, 1.0f / 3, 1.0f / 3); }

struct Method {
  ResizeMethod method;
  const char* name;
  bool keeps_images;
  float radius;  // Of the kernel.
  float (*kernel)(float distance);
};

constexpr Method kMethods[] = {
    {ResizeMethod::kBilinear, "bilinear", true, 0, nullptr},
    {ResizeMethod::kNearest, "nearest", true, 0, nullptr},
    {ResizeMethod::kBicubic, "bicubic", true, 2, KeysCubic},
    {ResizeMethod::kArea, "area", true, 0, nullptr},
    {ResizeMethod::kLanczos3, "lanczos3", true, 3, Lanczos3},
    {ResizeMethod::kLanczos5, "lanczos5", true, 5, Lanczos5},
    {ResizeMethod::kGaussian, "gaussian", false, 1.5f, Gaussian},
    {ResizeMethod::kMitchellCubic, "mitchellcubic", false, 2, MitchellCubic},
};

const Method& Of(ResizeMethod method) { return kMethods[static_cast<size_t>(method)]; }

// Where output pixel `i` samples the axis, in pixels from the center of the first one.
float SampleOf(ResizeMethod method, const ResizedAxis& axis, int64_t i) {
  const auto extent = static_cast<float>(axis.extent);
  const auto output = static_cast<float>(axis.output);
  const float center = static_cast<float>(i) + 0.5f;
  if (method != ResizeMethod::kBicubic) return center * (1 / (output / extent)) - 0.5f;
  // ResizeBicubic has a table of the kernel with 1024 places for each pixel.
  constexpr float kPlaces = 1024;
  return std::nearbyint((center * (extent / output) - 0.5f) * kPlaces) / kPlaces;
}

ResizeSpan KernelSpan(ResizeMethod method, const ResizedAxis& axis, int64_t i) {
  const Method& row = Of(method);
  const float sample = SampleOf(method, axis, i);
  const auto inside = [&](float pixel) {
    return std::clamp<int64_t>(static_cast<int64_t>(pixel), 0, axis.extent - 1);
  };
  ResizeSpan span;
  span.first = inside(std::ceil(sample - row.radius));
  const int64_t last = inside(std::floor(sample + row.radius));
  float sum = 0;
  for (int64_t pixel = span.first; pixel <= last; ++pixel) {
    span.weights.push_back(row.kernel(std::abs(static_cast<float>(pixel) - sample)));
    sum += span.weights.back();
  }
  // Pixels outside of the image have no weight.
  for (float& weight : span.weights) weight /= sum;
  return span;
}

// The weights are the parts of the pixels that the output pixel covers.
ResizeSpan AreaSpan(const ResizedAxis& axis, int64_t i) {
  const float scale = static_cast<float>(axis.extent) / static_cast<float>(axis.output);
  const float begin = static_cast<float>(i) * scale;
  const float end = static_cast<float>(i + 1) * scale;
  ResizeSpan span;
  span.first = std::min(static_cast<int64_t>(begin), axis.extent - 1);
  for (int64_t pixel = span.first; static_cast<float>(pixel) < end; ++pixel) {
    const auto low = static_cast<float>(pixel);
    const float part =
        low < begin ? (low + 1 > end ? scale : low + 1 - begin) : (low + 1 > end ? end - low : 1);
    if (pixel < axis.extent) {
      span.weights.push_back(part / scale);
    } else {  // The end was rounded up.
      span.weights.back() += part / scale;
    }
  }
  return span;
}

}  // namespace

std::vector<std::string> ResizeMethodNames() {
  std::vector<std::string> names;
  for (const Method& row : kMethods) names.emplace_back(row.name);
  return names;
}

const char* NameOf(ResizeMethod method) { return Of(method).name; }

std::optional<ResizeMethod> ResizeMethodNamed(std::string_view name) {
  for (const Method& row : kMethods) {
    if (row.name == name) return row.method;
  }
  return std::nullopt;
}

bool KeepsImages(ResizeMethod method) { return Of(method).keeps_images; }

std::vector<ResizeSpan> ResizeSpans(ResizeMethod method, const ResizedAxis& axis) {
  CAIRN_CHECK(method == ResizeMethod::kArea || Of(method).kernel != nullptr);
  std::vector<ResizeSpan> spans;
  for (int64_t i = 0; i < axis.output; ++i) {
    ResizeSpan span =
        method == ResizeMethod::kArea ? AreaSpan(axis, i) : KernelSpan(method, axis, i);
    span.first += axis.start;
    spans.push_back(std::move(span));
  }
  return spans;
}

}  // namespace cairn::nn
