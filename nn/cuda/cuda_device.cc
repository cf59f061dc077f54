#include "nn/cuda/cuda_device.h"

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/cuda/cuda_status.h"
#include "nn/layer.h"

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
    return absl::UnavailableError(status.message());
  }
  if (ordinal >= 0 && ordinal < count) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("there is no GPU ", ordinal, ": ", count, " visible, counted from 0"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> CudaDevice::Create(int ordinal) {
  CAIRN_RETURN_IF_ERROR(CheckOrdinal(ordinal));
  auto device = absl::WrapUnique(new CudaDevice(ordinal));
  CAIRN_RETURN_IF_ERROR(device->Initialize());
  return device;
}

absl::Status CudaDevice::Initialize() {
  CAIRN_RETURN_IF_ERROR(MakeCurrent());
  cudaDeviceProp properties;
  CAIRN_RETURN_IF_ERROR(
      CudaStatus(cudaGetDeviceProperties(&properties, ordinal_), "asking for the GPU's name"));
  name_ = absl::StrCat("cuda:", ordinal_, " (", properties.name, ")");

  cudaStream_t stream = nullptr;
  CAIRN_RETURN_IF_ERROR(CudaStatus(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                                   absl::StrCat("creating a stream on ", name_)));
  stream_.reset(stream);
  CAIRN_ASSIGN_OR_RETURN(copies_, StagedCopies::Create(stream));
  return absl::OkStatus();
}

CudaDevice::~CudaDevice() {
  // Wait for pending copies: their buffers are freed next.
  if (stream_ != nullptr && MakeCurrent().ok()) cudaStreamSynchronize(stream_.get());
}

absl::StatusOr<void*> CudaDevice::Allocate(size_t bytes) {
  CAIRN_RETURN_IF_ERROR(MakeCurrent());
  void* memory = nullptr;
  // cudaMalloc aligns to 256 bytes. For 0 bytes it returns null, which callers take for a failure.
  CAIRN_RETURN_IF_ERROR(CudaStatus(cudaMalloc(&memory, std::max<size_t>(bytes, 1)),
                                   absl::StrCat("allocating ", bytes, " bytes on ", name_)));
  return memory;
}

void CudaDevice::Free(void* memory) {
  if (memory == nullptr || !MakeCurrent().ok()) return;
  cudaStreamSynchronize(stream_.get());
  cudaFree(memory);
}

absl::Status CudaDevice::CopyToDevice(void* device, const void* host, size_t bytes) {
  CAIRN_RETURN_IF_ERROR(MakeCurrent());
  return copies_->ToDevice(device, host, bytes);
}

absl::Status CudaDevice::CopyFromDevice(void* host, const void* device, size_t bytes) {
  CAIRN_RETURN_IF_ERROR(MakeCurrent());
  return copies_->FromDevice(host, device, bytes);
}

absl::Status CudaDevice::Synchronize() {
  CAIRN_RETURN_IF_ERROR(MakeCurrent());
  return CudaStatus(cudaStreamSynchronize(stream_.get()), absl::StrCat("waiting for ", name_));
}

absl::Status CudaDevice::Zero(void* memory, size_t bytes) {
  CAIRN_RETURN_IF_ERROR(MakeCurrent());
  return CudaStatus(cudaMemsetAsync(memory, 0, bytes, stream_.get()),
                    absl::StrCat("clearing ", bytes, " bytes on ", name_));
}

absl::Status CudaDevice::Copy(void* to, const void* from, size_t bytes) {
  CAIRN_RETURN_IF_ERROR(MakeCurrent());
  return CudaStatus(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_.get()),
                    absl::StrCat("copying ", bytes, " bytes on ", name_));
}

absl::Status CudaDevice::Add(int64_t count, const float* addend, float* sum) {
  return NoKernel("Add");
}

absl::Status CudaDevice::Rescale(int64_t count, float multiplier, float divisor, float* values) {
  return NoKernel("Rescale");
}

absl::Status CudaDevice::Penalty(const Regularizer& regularizer, int64_t count, const float* values,
                                 double* penalty) {
  return NoKernel("Penalty");
}

absl::Status CudaDevice::AddPenaltyGradient(const Regularizer& regularizer, int64_t count,
                                            const float* values, float* gradient) {
  return NoKernel("AddPenaltyGradient");
}

absl::Status CudaDevice::NoKernel(const std::string& operation) const {
  return absl::UnimplementedError(
      absl::StrCat(operation, " has no kernel on ", name_, "; use the device \"cpu\""));
}

absl::Status CudaDevice::MakeCurrent() {
  return CudaStatus(cudaSetDevice(ordinal_), absl::StrCat("choosing GPU ", ordinal_));
}

absl::StatusOr<std::unique_ptr<Kernel>> CudaDevice::CreateKernel(const Layer& layer,
                                                                 const KernelOptions& options) {
  return absl::UnimplementedError(
      absl::StrCat("layer '", layer.name(), "' (", layer.class_name(), ") has no kernel on ", name_,
                   "; GPUs cannot run layers yet, use the device \"cpu\""));
}

absl::StatusOr<std::unique_ptr<LossKernel>> CudaDevice::CreateLossKernel(
    const Loss& loss, std::vector<const Metric*> metrics) {
  return NoKernel(absl::StrCat("loss ", loss.name()));
}

}  // namespace cairn::nn
