#include "nn/cuda/cuda_device.h"

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/cuda/cuda_status.h"
#include "nn/cuda/kernels.h"
#include "nn/cuda/loss_kernel.h"
#include "nn/cuda/operations.h"
#include "nn/cuda/orthogonal_penalty.h"
#include "nn/layer.h"
#include "nn/layers/time_distributed.h"
#include "nn/regularizer.h"

namespace cairn::nn {
namespace {

// CUDA encodes version 13.0 as 13000.
std::string VersionText(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

// The likely reason why no GPU can be used, or what to do.
std::string Remedy(cudaError_t error) {
  if (error == cudaErrorNoDevice) return "no GPU is visible; check CUDA_VISIBLE_DEVICES";
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
    return "no NVIDIA driver is installed";
  }
  if (error != cudaErrorInsufficientDriver) return "check the driver with nvidia-smi";
  return absl::StrCat("the NVIDIA driver knows CUDA ", VersionText(driver),
                      " but this build needs ", VersionText(CUDART_VERSION), "; update the driver");
}

absl::Status CheckOrdinal(int ordinal) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) {
    const absl::Status status = CudaStatus(error, Remedy(error));
    return absl::FailedPreconditionError(status.message());
  }
  if (ordinal >= 0 && ordinal < count) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("there is no GPU ", ordinal, ": ", count, " visible, counted from 0"));
}

struct KnownKernel {
  const char* class_name;
  std::unique_ptr<Kernel> (*create)(const Layer& layer, const cuda::KernelContext& context);
};

// The kernel of each layer class, as in nn/cpu/cpu_device.cc.
constexpr KnownKernel kKnownKernels[] = {
    {"Activation", cuda::CreateActivationKernel},
    {"AdaptiveAveragePooling1D", cuda::CreateAdaptivePoolingKernel},
    {"AdaptiveAveragePooling2D", cuda::CreateAdaptivePoolingKernel},
    {"AdaptiveAveragePooling3D", cuda::CreateAdaptivePoolingKernel},
    {"AdaptiveMaxPooling1D", cuda::CreateAdaptivePoolingKernel},
    {"AdaptiveMaxPooling2D", cuda::CreateAdaptivePoolingKernel},
    {"AdaptiveMaxPooling3D", cuda::CreateAdaptivePoolingKernel},
    {"Add", cuda::CreateMergeKernel},
    {"AdditiveAttention", cuda::CreateScoreAttentionKernel},
    {"AlphaDropout", cuda::CreateDropoutKernel},
    {"Attention", cuda::CreateScoreAttentionKernel},
    {"Average", cuda::CreateMergeKernel},
    {"AveragePooling1D", cuda::CreatePooling2DKernel},
    {"AveragePooling2D", cuda::CreatePooling2DKernel},
    {"AveragePooling3D", cuda::CreatePooling2DKernel},
    {"BatchNormalization", cuda::CreateBatchNormalizationKernel},
    {"Bidirectional", cuda::CreateRecurrentKernel},
    {"CategoryEncoding", cuda::CreateEncodingKernel},
    {"CenterCrop", cuda::CreateResizingKernel},
    {"Concatenate", cuda::CreateConcatenateKernel},
    {"Conv1D", cuda::CreateConv2DKernel},
    {"Conv1DTranspose", cuda::CreateConv2DTransposeKernel},
    {"Conv2D", cuda::CreateConv2DKernel},
    {"Conv2DTranspose", cuda::CreateConv2DTransposeKernel},
    {"ConvLSTM1D", cuda::CreateConvLstmKernel},
    {"ConvLSTM2D", cuda::CreateConvLstmKernel},
    {"Conv3D", cuda::CreateConv3DKernel},
    {"Conv3DTranspose", cuda::CreateConv3DKernel},
    {"Cos", cuda::CreateActivationKernel},
    {"Cropping1D", cuda::CreateRearrangingKernel},
    {"Cropping2D", cuda::CreateRearrangingKernel},
    {"Cropping3D", cuda::CreateRearrangingKernel},
    {"Dense", cuda::CreateDenseKernel},
    {"DepthwiseConv1D", cuda::CreateConv2DKernel},
    {"DepthwiseConv2D", cuda::CreateConv2DKernel},
    {"Discretization", cuda::CreateEncodingKernel},
    {"Dot", cuda::CreateDotKernel},
    {"Dropout", cuda::CreateDropoutKernel},
    {"ELU", cuda::CreateActivationKernel},
    {"EinsumDense", cuda::CreateEinsumDenseKernel},
    {"Embedding", cuda::CreateEmbeddingKernel},
    {"Erf", cuda::CreateActivationKernel},
    {"Floor", cuda::CreateActivationKernel},
    {"GRU", cuda::CreateRecurrentKernel},
    {"GaussianDropout", cuda::CreateGaussianNoiseKernel},
    {"GaussianNoise", cuda::CreateGaussianNoiseKernel},
    {"GlobalAveragePooling1D", cuda::CreateGlobalPoolingKernel},
    {"GlobalAveragePooling2D", cuda::CreateGlobalPoolingKernel},
    {"GlobalAveragePooling3D", cuda::CreateGlobalPoolingKernel},
    {"GlobalMaxPooling1D", cuda::CreateGlobalPoolingKernel},
    {"GlobalMaxPooling2D", cuda::CreateGlobalPoolingKernel},
    {"GlobalMaxPooling3D", cuda::CreateGlobalPoolingKernel},
    {"GroupNormalization", cuda::CreateLayerNormalizationKernel},
    {"LSTM", cuda::CreateRecurrentKernel},
    {"LayerNormalization", cuda::CreateLayerNormalizationKernel},
    {"LayerOutput", cuda::CreateLayerOutputKernel},
    {"LeakyReLU", cuda::CreateActivationKernel},
    {"Log", cuda::CreateActivationKernel},
    {"Masking", cuda::CreateMaskingKernel},
    {"MaxPooling1D", cuda::CreatePooling2DKernel},
    {"MaxPooling2D", cuda::CreatePooling2DKernel},
    {"MaxPooling3D", cuda::CreatePooling2DKernel},
    {"Maximum", cuda::CreateMergeKernel},
    {"Minimum", cuda::CreateMergeKernel},
    {"MultiHeadAttention", cuda::CreateAttentionKernel},
    {"Multiply", cuda::CreateMergeKernel},
    {"Normalization", cuda::CreateAffineKernel},
    {"PReLU", cuda::CreatePReLUKernel},
    {"Permute", cuda::CreateRearrangingKernel},
    {"RMSNormalization", cuda::CreateLayerNormalizationKernel},
    {"RNN", cuda::CreateRecurrentKernel},
    {"RandomBrightness", cuda::CreateRandomColorKernel},
    {"RandomContrast", cuda::CreateRandomColorKernel},
    {"RandomCrop", cuda::CreateRandomCropKernel},
    {"RandomErasing", cuda::CreateRandomPixelsKernel},
    {"RandomFlip", cuda::CreateRandomFlipKernel},
    {"RandomGrayscale", cuda::CreateRandomPixelsKernel},
    {"RandomInvert", cuda::CreateRandomPixelsKernel},
    {"RandomRotation", cuda::CreateRandomAffineKernel},
    {"RandomShear", cuda::CreateRandomAffineKernel},
    {"RandomTranslation", cuda::CreateRandomAffineKernel},
    {"RandomZoom", cuda::CreateRandomAffineKernel},
    {"ReLU", cuda::CreateActivationKernel},
    {"Reciprocal", cuda::CreateActivationKernel},
    {"RepeatVector", cuda::CreateRearrangingKernel},
    {"Rescaling", cuda::CreateAffineKernel},
    {"Resizing", cuda::CreateResizingKernel},
    {"SeparableConv1D", cuda::CreateSeparableConv2DKernel},
    {"SeparableConv2D", cuda::CreateSeparableConv2DKernel},
    {"Sign", cuda::CreateActivationKernel},
    {"SimpleRNN", cuda::CreateRecurrentKernel},
    {"Sin", cuda::CreateActivationKernel},
    {"Softmax", cuda::CreateActivationKernel},
    {"Solarization", cuda::CreateRandomPixelsKernel},
    {"SpatialDropout1D", cuda::CreateDropoutKernel},
    {"SpatialDropout2D", cuda::CreateDropoutKernel},
    {"SpatialDropout3D", cuda::CreateDropoutKernel},
    {"Sqrt", cuda::CreateActivationKernel},
    {"StringLookup", cuda::CreateEncodingKernel},
    {"Subtract", cuda::CreateMergeKernel},
    {"UnitNormalization", cuda::CreateLayerNormalizationKernel},
    {"UpSampling1D", cuda::CreateResizingKernel},
    {"UpSampling2D", cuda::CreateResizingKernel},
    {"UpSampling3D", cuda::CreateRearrangingKernel},
    {"ZeroPadding1D", cuda::CreateRearrangingKernel},
    {"ZeroPadding2D", cuda::CreateRearrangingKernel},
    {"ZeroPadding3D", cuda::CreateRearrangingKernel},
};

// A kernel whose errors name its layer. An error of Backward is returned by the device's next call.
class NamedKernel final : public Kernel {
 public:
  NamedKernel(const std::string& layer, std::unique_ptr<Kernel> kernel, int ordinal,
              cuda::Context* context)
      : forward_(absl::StrCat(layer, ", forward pass")),
        backward_(absl::StrCat(layer, ", backward pass")),
        kernel_(std::move(kernel)),
        ordinal_(ordinal),
        context_(context) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    context_->SetWork(&forward_);
    context_->Note(cudaSetDevice(ordinal_), "cudaSetDevice");
    absl::Status status = kernel_->Forward(arguments);
    context_->SetWork(nullptr);
    absl::Status error = context_->TakeError();
    return error.ok() ? status : error;
  }

  absl::Status FindInvalid(const ForwardArguments& arguments) override {
    context_->Note(cudaSetDevice(ordinal_), "cudaSetDevice");
    return kernel_->FindInvalid(arguments);
  }

  void Backward(const BackwardArguments& arguments) override {
    context_->SetWork(&backward_);
    context_->Note(cudaSetDevice(ordinal_), "cudaSetDevice");
    kernel_->Backward(arguments);
    context_->SetWork(nullptr);
  }

 private:
  const std::string forward_;
  const std::string backward_;
  const std::unique_ptr<Kernel> kernel_;
  const int ordinal_;
  cuda::Context* const context_;
};

// The scratch memory for the penalties of a layer's variables.
size_t PenaltyScratchBytes(const Layer& layer) {
  size_t bytes = 0;
  for (const LayerVariable& variable : layer.variables()) {
    if (variable.regularizer.orthogonal == 0) continue;
    bytes = std::max(
        bytes, cuda::OrthogonalScratchBytes(variable.regularizer, variable.spec.element_count()));
  }
  return bytes;
}

// The same for a loss.
class NamedLossKernel final : public LossKernel {
 public:
  NamedLossKernel(const std::string& loss, std::unique_ptr<LossKernel> kernel, int ordinal,
                  cuda::Context* context)
      : work_(absl::StrCat("loss ", loss)),
        kernel_(std::move(kernel)),
        ordinal_(ordinal),
        context_(context) {}

  absl::Status Compute(const Loss::Batch& batch, float* gradient, double* results,
                       double* invalid) override {
    context_->SetWork(&work_);
    context_->Note(cudaSetDevice(ordinal_), "cudaSetDevice");
    absl::Status status = kernel_->Compute(batch, gradient, results, invalid);
    context_->SetWork(nullptr);
    return status;
  }

  absl::Status FindInvalid(const Loss::Batch& batch) override {
    context_->Note(cudaSetDevice(ordinal_), "cudaSetDevice");
    return kernel_->FindInvalid(batch);
  }

 private:
  const std::string work_;
  const std::unique_ptr<LossKernel> kernel_;
  const int ordinal_;
  cuda::Context* const context_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> CudaDevice::Create(int ordinal) {
  CAIRN_RETURN_IF_ERROR(CheckOrdinal(ordinal));
  auto device = absl::WrapUnique(new CudaDevice(ordinal));
  CAIRN_RETURN_IF_ERROR(device->Initialize());
  return device;
}

absl::Status CudaDevice::Initialize() {
  CAIRN_RETURN_IF_ERROR(Begin());
  cudaDeviceProp properties;
  CAIRN_RETURN_IF_ERROR(
      CudaStatus(cudaGetDeviceProperties(&properties, ordinal_), "asking for the GPU's name"));
  name_ = absl::StrCat("cuda:", ordinal_, " (", properties.name, ")");
  CAIRN_ASSIGN_OR_RETURN(context_, cuda::Context::Create(name_));
  CAIRN_ASSIGN_OR_RETURN(downloads_, Downloads::Create(context_->stream(), name_));
  try {
    context_->ReserveScratch(cuda::kPenaltyScratchBytes);
  } catch (const cuda::OutOfMemory& error) {
    return error.status;
  }
  return absl::OkStatus();
}

CudaDevice::~CudaDevice() { cudaSetDevice(ordinal_); }

absl::StatusOr<void*> CudaDevice::Allocate(size_t bytes) {
  CAIRN_RETURN_IF_ERROR(Begin());
  try {
    return context_->Allocate(bytes);
  } catch (const cuda::OutOfMemory& error) {
    return error.status;
  }
}

void CudaDevice::Free(void* memory) {
  if (memory == nullptr) return;
  cudaSetDevice(ordinal_);
  downloads_->WaitForAll();
  context_->Free(memory);
}

absl::Status CudaDevice::CopyToDevice(void* device, const void* host, size_t bytes) {
  CAIRN_RETURN_IF_ERROR(Begin());
  return context_->copies().ToDevice(device, host, bytes);
}

absl::Status CudaDevice::CopyFromDevice(void* host, const void* device, size_t bytes) {
  CAIRN_RETURN_IF_ERROR(Begin());
  return context_->copies().FromDevice(host, device, bytes);
}

absl::Status CudaDevice::StartCopyToDevice(void* device, const void* host, size_t bytes) {
  CAIRN_RETURN_IF_ERROR(Begin());
  return CudaStatus(
      cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, context_->stream()),
      absl::StrCat("copying ", bytes, " bytes to ", name_));
}

absl::StatusOr<int64_t> CudaDevice::StartCopyFromDevice(void* host, const void* device,
                                                        size_t bytes) {
  CAIRN_RETURN_IF_ERROR(Begin());
  return downloads_->Start(host, device, bytes);
}

absl::Status CudaDevice::WaitForCopy(int64_t copy) {
  CAIRN_RETURN_IF_ERROR(Begin());
  return downloads_->Wait(copy);
}

absl::StatusOr<void*> CudaDevice::AllocateHost(size_t bytes) {
  CAIRN_RETURN_IF_ERROR(Begin());
  void* memory = nullptr;
  CAIRN_RETURN_IF_ERROR(CudaStatus(cudaMallocHost(&memory, std::max<size_t>(bytes, 1)),
                                   absl::StrCat("pinning ", bytes, " bytes of memory")));
  return memory;
}

void CudaDevice::FreeHost(void* memory) {
  if (memory == nullptr) return;
  cudaSetDevice(ordinal_);
  cudaStreamSynchronize(context_->stream());
  downloads_->WaitForAll();
  cudaFreeHost(memory);
}

absl::Status CudaDevice::Synchronize() {
  CAIRN_RETURN_IF_ERROR(Begin());
  CAIRN_RETURN_IF_ERROR(
      CudaStatus(cudaStreamSynchronize(context_->stream()), absl::StrCat("waiting for ", name_)));
  return CudaStatus(downloads_->WaitForAll(), absl::StrCat("waiting for copies from ", name_));
}

absl::Status CudaDevice::Zero(void* memory, size_t bytes) {
  CAIRN_RETURN_IF_ERROR(Begin());
  context_->Zero(memory, bytes);
  return context_->TakeError();
}

absl::Status CudaDevice::Copy(void* to, const void* from, size_t bytes) {
  CAIRN_RETURN_IF_ERROR(Begin());
  context_->Copy(to, from, bytes);
  return context_->TakeError();
}

absl::Status CudaDevice::Add(int64_t count, const float* addend, float* sum) {
  CAIRN_RETURN_IF_ERROR(Begin());
  cuda::Add(context_.get(), count, addend, sum);
  return context_->TakeError();
}

absl::Status CudaDevice::Rescale(int64_t count, float multiplier, float divisor, float* values) {
  CAIRN_RETURN_IF_ERROR(Begin());
  cuda::Rescale(context_.get(), count, multiplier, divisor, values);
  return context_->TakeError();
}

absl::Status CudaDevice::Penalty(const Regularizer& regularizer, int64_t count, const float* values,
                                 double* penalty) {
  CAIRN_RETURN_IF_ERROR(Begin());
  if (regularizer.orthogonal > 0) {
    cuda::OrthogonalPenalty(context_.get(), regularizer, count, values, penalty);
  } else {
    cuda::Penalty(context_.get(), regularizer.l1, regularizer.l2, count, values, penalty);
  }
  return context_->TakeError();
}

absl::Status CudaDevice::AddPenaltyGradient(const Regularizer& regularizer, int64_t count,
                                            const float* values, float* gradient) {
  CAIRN_RETURN_IF_ERROR(Begin());
  if (regularizer.orthogonal > 0) {
    cuda::AddOrthogonalGradient(context_.get(), regularizer, count, values, gradient);
  } else {
    cuda::AddPenaltyGradient(context_.get(), regularizer.l1, regularizer.l2, count, values,
                             gradient);
  }
  return context_->TakeError();
}

absl::Status CudaDevice::Begin() {
  CAIRN_RETURN_IF_ERROR(
      CudaStatus(cudaSetDevice(ordinal_), absl::StrCat("choosing GPU ", ordinal_)));
  return context_ == nullptr ? absl::OkStatus() : context_->TakeError();
}

absl::StatusOr<std::unique_ptr<Kernel>> CudaDevice::CreateKernel(const Layer& layer,
                                                                 const KernelOptions& options) {
  CAIRN_RETURN_IF_ERROR(Begin());
  if (layer.class_name() == "TimeDistributed") {
    const auto& distributed = static_cast<const TimeDistributedLayer&>(layer);
    KernelOptions of_steps = options;
    of_steps.examples *= distributed.steps();
    return CreateKernel(distributed.inner(), of_steps);
  }
  const std::string what = absl::StrCat("layer '", layer.name(), "' (", layer.class_name(), ")");
  for (const KnownKernel& known : kKnownKernels) {
    if (layer.class_name() != known.class_name) continue;
    try {
      context_->ReserveScratch(PenaltyScratchBytes(layer));
      return std::make_unique<NamedKernel>(
          what, known.create(layer, {.options = options, .cuda = context_.get()}), ordinal_,
          context_.get());
    } catch (const cuda::OutOfMemory& error) {
      return absl::ResourceExhaustedError(
          absl::StrCat(what, ": ", std::string(error.status.message())));
    }
  }
  return absl::UnimplementedError(absl::StrCat(what, " has no kernel on ", name_,
                                               "; use the device \"cpu\", which has all layers"));
}

absl::StatusOr<std::unique_ptr<LossKernel>> CudaDevice::CreateLossKernel(
    const Loss& loss, std::vector<const Metric*> metrics) {
  CAIRN_RETURN_IF_ERROR(Begin());
  try {
    return std::make_unique<NamedLossKernel>(
        loss.name(), cuda::CreateLossKernel(loss, std::move(metrics), context_.get()), ordinal_,
        context_.get());
  } catch (const cuda::OutOfMemory& error) {
    return absl::ResourceExhaustedError(
        absl::StrCat("loss ", loss.name(), ": ", std::string(error.status.message())));
  }
}

}  // namespace cairn::nn
