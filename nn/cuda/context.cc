#include "nn/cuda/context.h"

#include <algorithm>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/cuda/cuda_status.h"

namespace cairn::nn::cuda {

absl::StatusOr<std::unique_ptr<Context>> Context::Create(std::string device) {
  auto context = absl::WrapUnique(new Context(std::move(device)));
  cudaStream_t stream = nullptr;
  CAIRN_RETURN_IF_ERROR(CudaStatus(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                                   absl::StrCat("creating a stream on ", context->device_)));
  context->stream_.reset(stream);
  CAIRN_ASSIGN_OR_RETURN(context->copies_, StagedCopies::Create(stream, context->device_));
  cublasHandle_t blas = nullptr;
  context->Note(cublasCreate(&blas), "cublasCreate");
  CAIRN_RETURN_IF_ERROR(context->TakeError());
  context->blas_.reset(blas);
  context->Note(cublasSetStream(blas, stream), "cublasSetStream");
  CAIRN_RETURN_IF_ERROR(context->TakeError());
  return context;
}

Context::~Context() {
  // Pending copies use buffers that are freed next.
  if (stream_ != nullptr) cudaStreamSynchronize(stream_.get());
  Free(scratch_);
}

void Context::Note(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  const std::string work = work_ == nullptr ? "" : absl::StrCat(*work_, ": ");
  Note(CudaStatus(error, absl::StrCat(work, call, " on ", device_)));
}

void Context::Note(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const std::string work = work_ == nullptr ? "" : absl::StrCat(*work_, ": ");
  Note(absl::InternalError(
      absl::StrCat(work, call, " on ", device_, ": ", cublasGetStatusName(status))));
}

void Context::Note(absl::Status status) {
  if (error_.ok()) error_ = std::move(status);
}

void* Context::Allocate(size_t bytes) {
  void* memory = nullptr;
  // cudaMalloc aligns to 256 bytes. For 0 bytes it returns null, which callers take for a failure.
  const cudaError_t error = cudaMalloc(&memory, std::max<size_t>(bytes, 1));
  if (error == cudaSuccess) return memory;
  size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);  // Of all processes.
  throw OutOfMemory{CudaStatus(error, absl::StrCat("allocating ", bytes, " bytes on ", device_,
                                                   ", ", free, " of ", total, " are free"))};
}

void Context::Free(void* memory) {
  if (memory == nullptr) return;
  // Pending work may use the memory.
  cudaStreamSynchronize(stream_.get());
  cudaFree(memory);
}

void Context::ReserveScratch(size_t bytes) {
  if (bytes <= scratch_bytes_) return;
  // First, because kernels that exist go on with the old memory if this fails.
  void* const memory = Allocate(bytes);
  Free(std::exchange(scratch_, memory));
  scratch_bytes_ = bytes;
}

void Context::Zero(void* memory, size_t bytes) {
  if (bytes != 0) Note(cudaMemsetAsync(memory, 0, bytes, stream()), "cudaMemsetAsync");
}

void Context::Copy(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  Note(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream()), "cudaMemcpyAsync");
}

}  // namespace cairn::nn::cuda
