#include "nn/cpu/create_convolution.h"

#include "nn/cpu/depthwise_convolution.h"
#include "nn/cpu/dnnl_convolution.h"
#include "nn/cpu/unfolded_convolution.h"

namespace cairn::nn {
namespace {

// With few output pixels and a large kernel, oneDNN's convolutions spend more time on reordering
// the kernel to blocks and back than they save. Thresholds measured on AMD EPYC (Zen 4).
bool PrefersUnfolded(const Convolution::Options& o) {
  constexpr int64_t kPixelsMax = 1280;
  if (o.groups != 1) return false;
  if (o.window.size[0] * o.window.size[1] == 1) return o.output_pixels() < kPixelsMax;
  return o.output_pixels() * 2 <= o.output[2];
}

// The loops keep the kernel's pixels in registers; only AVX-512 has enough of them.
bool PrefersDepthwise(const Convolution::Options& o) {
#if defined(__x86_64__)
  return DepthwiseConvolution::Fits(o) && __builtin_cpu_supports("avx512f");
#else
  return false;
#endif
}

}  // namespace

std::unique_ptr<Convolution> CreateConvolution(const Convolution::Options& options,
                                               const DnnlContext* context) {
  if (PrefersUnfolded(options)) return std::make_unique<UnfoldedConvolution>(options, context);
  if (PrefersDepthwise(options)) return std::make_unique<DepthwiseConvolution>(options);
  return std::make_unique<DnnlConvolution>(options, context);
}

}  // namespace cairn::nn
