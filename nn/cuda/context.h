#ifndef CAIRN_NN_CUDA_CONTEXT_H_
#define CAIRN_NN_CUDA_CONTEXT_H_

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nn/cuda/cuda_handles.h"
#include "nn/cuda/staged_copies.h"
#include "nn/precision.h"

namespace cairn::nn::cuda {

// What the kernels of one GPU share: its stream, cuBLAS, scratch memory, and the first error of
// work that was submitted. Used by one thread at a time. The GPU must be the calling thread's
// current one.
class Context {
 public:
  // `device` is the GPU's name for messages.
  static absl::StatusOr<std::unique_ptr<Context>> Create(std::string device);
  ~Context();

  cudaStream_t stream() const { return stream_.get(); }
  cublasHandle_t blas() const { return blas_.get(); }
  // The precision of products that are submitted from now on.
  Precision precision() const { return precision_; }
  void set_precision(Precision precision) { precision_ = precision; }
  StagedCopies& copies() { return *copies_; }
  const std::string& device() const { return device_; }

  // Says for the messages of errors what is computed from now on: "layer 'hidden' (Dense),
  // backward". Null: nothing. The text must live until the next call.
  void SetWork(const std::string* work) { work_ = work; }
  // Keeps the error of a call, if it is one and the first.
  void Note(cudaError_t error, const char* call);
  void Note(cublasStatus_t status, const char* call);
  void Note(absl::Status status);
  // Returns the error that was kept, and forgets it.
  absl::Status TakeError() { return std::exchange(error_, absl::OkStatus()); }

  // Allocates and frees device memory. Throws OutOfMemory.
  void* Allocate(size_t bytes);
  void Free(void* memory);

  // Makes the scratch memory at least this large, when a kernel is created. Kernels use it one
  // after another, as their work is in the order of one stream. Throws OutOfMemory.
  void ReserveScratch(size_t bytes);
  template <typename T>
  T* scratch() const {
    return static_cast<T*>(scratch_);
  }

  void Zero(void* memory, size_t bytes);
  void Copy(void* to, const void* from, size_t bytes);
  template <typename T>
  void Upload(T* to, const std::vector<T>& from) {
    Note(copies_->ToDevice(to, from.data(), from.size() * sizeof(T)));
  }

 private:
  struct DestroyBlas {
    void operator()(cublasHandle_t handle) const { cublasDestroy(handle); }
  };

  explicit Context(std::string device) : device_(std::move(device)) {}

  const std::string device_;
  CudaStream stream_;
  std::unique_ptr<std::remove_pointer_t<cublasHandle_t>, DestroyBlas> blas_;
  std::unique_ptr<StagedCopies> copies_;
  Precision precision_ = Precision::kFloat32;
  const std::string* work_ = nullptr;
  absl::Status error_;
  void* scratch_ = nullptr;
  size_t scratch_bytes_ = 0;
};

// Thrown by constructors of kernels; CudaDevice turns it into a status.
struct OutOfMemory {
  absl::Status status;
};

// `count` values of device memory that belong to a kernel. Not movable.
template <typename T>
class DeviceArray {
 public:
  DeviceArray(Context* context, int64_t count)
      : context_(context),
        data_(count == 0 ? nullptr : static_cast<T*>(context->Allocate(count * sizeof(T)))) {}
  ~DeviceArray() { context_->Free(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() const { return data_; }

 private:
  Context* const context_;
  T* const data_;
};

}  // namespace cairn::nn::cuda

#endif  // CAIRN_NN_CUDA_CONTEXT_H_
