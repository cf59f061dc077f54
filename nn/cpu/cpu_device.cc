#include "nn/cpu/cpu_device.h"

#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/simd.h"
#include "common/status_macros.h"
#include "nn/cpu/aligned_memory.h"
#include "nn/cpu/dnnl_context.h"
#include "nn/cpu/fused_layers.h"
#include "nn/cpu/kernels.h"
#include "nn/layers/time_distributed.h"
#include "nn/metric.h"
#include "nn/regularizer.h"

namespace cairn::nn {
namespace {

struct KnownKernel {
  const char* class_name;
  std::unique_ptr<Kernel> (*create)(const Layer& layer, const KernelContext& context);
};

// The kernel of each layer class. Layers that are always views of their input have none.
constexpr KnownKernel kKnownKernels[] = {
    {"Activation", CreateActivationKernel},
    {"AdaptiveAveragePooling1D", CreateAdaptivePoolingKernel},
    {"AdaptiveAveragePooling2D", CreateAdaptivePoolingKernel},
    {"AdaptiveAveragePooling3D", CreateAdaptivePoolingKernel},
    {"AdaptiveMaxPooling1D", CreateAdaptivePoolingKernel},
    {"AdaptiveMaxPooling2D", CreateAdaptivePoolingKernel},
    {"AdaptiveMaxPooling3D", CreateAdaptivePoolingKernel},
    {"Add", CreateMergeKernel},
    {"AdditiveAttention", CreateScoreAttentionKernel},
    {"AlphaDropout", CreateDropoutKernel},
    {"Attention", CreateScoreAttentionKernel},
    {"Average", CreateMergeKernel},
    {"AveragePooling1D", CreatePooling2DKernel},
    {"AveragePooling2D", CreatePooling2DKernel},
    {"AveragePooling3D", CreatePooling2DKernel},
    {"BatchNormalization", CreateBatchNormalizationKernel},
    {"Bidirectional", CreateRecurrentKernel},
    {"CategoryEncoding", CreateCategoryEncodingKernel},
    {"CenterCrop", CreateResizingKernel},
    {"Concatenate", CreateConcatenateKernel},
    {"Conv1D", CreateConv2DKernel},
    {"Conv1DTranspose", CreateConv2DTransposeKernel},
    {"Conv2D", CreateConv2DKernel},
    {"Conv2DTranspose", CreateConv2DTransposeKernel},
    {"Conv3D", CreateConv3DKernel},
    {"Conv3DTranspose", CreateConv3DKernel},
    {"ConvLSTM1D", CreateConvLstmKernel},
    {"ConvLSTM2D", CreateConvLstmKernel},
    {"Cos", CreateActivationKernel},
    {"Cropping1D", CreateRearrangingKernel},
    {"Cropping2D", CreateRearrangingKernel},
    {"Cropping3D", CreateRearrangingKernel},
    {"Dense", CreateDenseKernel},
    {"DepthwiseConv1D", CreateConv2DKernel},
    {"DepthwiseConv2D", CreateConv2DKernel},
    {"Discretization", CreateDiscretizationKernel},
    {"Dot", CreateDotKernel},
    {"Dropout", CreateDropoutKernel},
    {"ELU", CreateActivationKernel},
    {"EinsumDense", CreateEinsumDenseKernel},
    {"Embedding", CreateEmbeddingKernel},
    {"Erf", CreateActivationKernel},
    {"Floor", CreateActivationKernel},
    {"GRU", CreateRecurrentKernel},
    {"GaussianDropout", CreateGaussianNoiseKernel},
    {"GaussianNoise", CreateGaussianNoiseKernel},
    {"GlobalAveragePooling1D", CreateGlobalPoolingKernel},
    {"GlobalAveragePooling2D", CreateGlobalPoolingKernel},
    {"GlobalAveragePooling3D", CreateGlobalPoolingKernel},
    {"GlobalMaxPooling1D", CreateGlobalPoolingKernel},
    {"GlobalMaxPooling2D", CreateGlobalPoolingKernel},
    {"GlobalMaxPooling3D", CreateGlobalPoolingKernel},
    {"GroupNormalization", CreateLayerNormalizationKernel},
    {"LSTM", CreateRecurrentKernel},
    {"LayerNormalization", CreateLayerNormalizationKernel},
    {"LayerOutput", CreateLayerOutputKernel},
    {"LeakyReLU", CreateActivationKernel},
    {"Log", CreateActivationKernel},
    {"Masking", CreateMaskingKernel},
    {"MaxPooling1D", CreatePooling2DKernel},
    {"MaxPooling2D", CreatePooling2DKernel},
    {"MaxPooling3D", CreatePooling2DKernel},
    {"Maximum", CreateMergeKernel},
    {"Minimum", CreateMergeKernel},
    {"MultiHeadAttention", CreateAttentionKernel},
    {"Multiply", CreateMergeKernel},
    {"Normalization", CreateAffineKernel},
    {"PReLU", CreatePReLUKernel},
    {"Permute", CreateRearrangingKernel},
    {"RMSNormalization", CreateLayerNormalizationKernel},
    {"RNN", CreateRecurrentKernel},
    {"RandomBrightness", CreateRandomColorKernel},
    {"RandomContrast", CreateRandomColorKernel},
    {"RandomCrop", CreateRandomCropKernel},
    {"RandomErasing", CreateRandomPixelsKernel},
    {"RandomFlip", CreateRandomFlipKernel},
    {"RandomGrayscale", CreateRandomPixelsKernel},
    {"RandomInvert", CreateRandomPixelsKernel},
    {"RandomRotation", CreateRandomAffineKernel},
    {"RandomShear", CreateRandomAffineKernel},
    {"RandomTranslation", CreateRandomAffineKernel},
    {"RandomZoom", CreateRandomAffineKernel},
    {"ReLU", CreateActivationKernel},
    {"Reciprocal", CreateActivationKernel},
    {"RepeatVector", CreateRearrangingKernel},
    {"Rescaling", CreateAffineKernel},
    {"Resizing", CreateResizingKernel},
    {"SeparableConv1D", CreateSeparableConv2DKernel},
    {"SeparableConv2D", CreateSeparableConv2DKernel},
    {"Sign", CreateActivationKernel},
    {"SimpleRNN", CreateRecurrentKernel},
    {"Sin", CreateActivationKernel},
    {"Softmax", CreateActivationKernel},
    {"Solarization", CreateRandomPixelsKernel},
    {"SpatialDropout1D", CreateDropoutKernel},
    {"SpatialDropout2D", CreateDropoutKernel},
    {"SpatialDropout3D", CreateDropoutKernel},
    {"Sqrt", CreateActivationKernel},
    {"StringLookup", CreateStringLookupKernel},
    {"Subtract", CreateMergeKernel},
    {"UnitNormalization", CreateLayerNormalizationKernel},
    {"UpSampling1D", CreateResizingKernel},
    {"UpSampling2D", CreateResizingKernel},
    {"UpSampling3D", CreateRearrangingKernel},
    {"ZeroPadding1D", CreateRearrangingKernel},
    {"ZeroPadding2D", CreateRearrangingKernel},
    {"ZeroPadding3D", CreateRearrangingKernel},
};

CAIRN_SIMD void AddTo(int64_t count, const float* addend, float* sum) {
  for (int64_t i = 0; i < count; ++i) sum[i] += addend[i];
}

CAIRN_SIMD void MultiplyAndDivide(int64_t count, float multiplier, float divisor, float* values) {
  for (int64_t i = 0; i < count; ++i) values[i] = values[i] * multiplier / divisor;
}

class CpuLossKernel final : public LossKernel {
 public:
  CpuLossKernel(const Loss& loss, std::vector<const Metric*> metrics)
      : loss_(loss), metrics_(std::move(metrics)) {}

  absl::Status Compute(const Loss::Batch& batch, float* gradient, double* results,
                       double* /*invalid*/) override {
    Loss::Batch computed = batch;
    CAIRN_ASSIGN_OR_RETURN(computed.loss_sum, loss_.Compute(batch, gradient));
    *results++ = computed.loss_sum;
    for (const Metric* metric : metrics_) {
      const absl::Span<double> state(results, static_cast<size_t>(metric->state_size()));
      std::fill(state.begin(), state.end(), 0.0);
      metric->Accumulate(computed, state);
      results += metric->state_size();
    }
    return absl::OkStatus();
  }

 private:
  const Loss& loss_;
  const std::vector<const Metric*> metrics_;
};

size_t PhysicalBytes() {
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
}

// Runs `work` and turns exceptions of oneDNN and the allocator into a status.
template <typename Work>
absl::Status Guarded(const std::string& what, const Work& work) {
  try {
    work();
    return absl::OkStatus();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory for ", what));
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) {
      return absl::ResourceExhaustedError(absl::StrCat("no memory for ", what));
    }
    return absl::InternalError(absl::StrCat("oneDNN cannot compute ", what, ": ", error.what()));
  }
}

}  // namespace

CpuDevice::CpuDevice() : dnnl_(std::make_unique<DnnlContext>()) {}
CpuDevice::~CpuDevice() = default;

absl::StatusOr<void*> CpuDevice::Allocate(size_t bytes) {
  // Linux overcommits: an allocation larger than the memory may succeed and get the process killed
  // on first use.
  if (bytes < PhysicalBytes()) {
    if (void* memory = AllocateAligned(bytes)) return memory;
  }
  return absl::ResourceExhaustedError(absl::StrCat("no memory for ", bytes, " bytes"));
}

void CpuDevice::Free(void* memory) { std::free(memory); }

absl::Status CpuDevice::CopyToDevice(void* device, const void* host, size_t bytes) {
  std::memcpy(device, host, bytes);
  return absl::OkStatus();
}

absl::Status CpuDevice::CopyFromDevice(void* host, const void* device, size_t bytes) {
  std::memcpy(host, device, bytes);
  return absl::OkStatus();
}

absl::Status CpuDevice::Zero(void* memory, size_t bytes) {
  std::memset(memory, 0, bytes);
  return absl::OkStatus();
}

absl::Status CpuDevice::Copy(void* to, const void* from, size_t bytes) {
  std::memcpy(to, from, bytes);
  return absl::OkStatus();
}

absl::Status CpuDevice::Add(int64_t count, const float* addend, float* sum) {
  AddTo(count, addend, sum);
  return absl::OkStatus();
}

absl::Status CpuDevice::Rescale(int64_t count, float multiplier, float divisor, float* values) {
  MultiplyAndDivide(count, multiplier, divisor, values);
  return absl::OkStatus();
}

absl::Status CpuDevice::Penalty(const Regularizer& regularizer, int64_t count, const float* values,
                                double* penalty) {
  *penalty = regularizer.Penalty(values, count);
  return absl::OkStatus();
}

absl::Status CpuDevice::AddPenaltyGradient(const Regularizer& regularizer, int64_t count,
                                           const float* values, float* gradient) {
  regularizer.AddGradient(values, count, gradient);
  return absl::OkStatus();
}

void CpuDevice::UseThreads(int threads) { omp_set_num_threads(threads); }

bool CpuDevice::CanFuse(const Layer& first, const Layer& second) const {
  return HasFusedKernel(first, second);
}

absl::StatusOr<std::unique_ptr<Kernel>> CpuDevice::CreateKernel(const Layer& layer,
                                                                const KernelOptions& options) {
  if (const auto* distributed = dynamic_cast<const TimeDistributedLayer*>(&layer)) {
    KernelOptions of_steps = options;
    of_steps.examples *= distributed->steps();
    return CreateKernel(distributed->inner(), of_steps);
  }
  const std::string what = absl::StrCat("layer '", layer.name(), "' (", layer.class_name(), ")");
  for (const KnownKernel& known : kKnownKernels) {
    if (layer.class_name() != known.class_name) continue;
    std::unique_ptr<Kernel> kernel;
    absl::Status status = Guarded(
        what, [&] { kernel = known.create(layer, {.options = options, .dnnl = dnnl_.get()}); });
    if (!status.ok()) return status;
    return kernel;
  }
  return absl::UnimplementedError(absl::StrCat(what, " has no kernel on the cpu"));
}

absl::StatusOr<std::unique_ptr<LossKernel>> CpuDevice::CreateLossKernel(
    const Loss& loss, std::vector<const Metric*> metrics) {
  return std::make_unique<CpuLossKernel>(loss, std::move(metrics));
}

}  // namespace cairn::nn
