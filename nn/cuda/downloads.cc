#include "nn/cuda/downloads.h"

#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/cuda/cuda_status.h"

namespace cairn::nn {

absl::StatusOr<std::unique_ptr<Downloads>> Downloads::Create(cudaStream_t compute,
                                                             std::string device) {
  auto downloads = absl::WrapUnique(new Downloads(compute, std::move(device)));
  cudaStream_t stream = nullptr;
  CAIRN_RETURN_IF_ERROR(CudaStatus(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                                   "creating a stream for copies"));
  downloads->stream_.reset(stream);
  CAIRN_ASSIGN_OR_RETURN(downloads->computed_, downloads->TakeEvent());
  return downloads;
}

absl::StatusOr<CudaEvent> Downloads::TakeEvent() {
  if (!unused_.empty()) {
    CudaEvent event = std::move(unused_.back());
    unused_.pop_back();
    return event;
  }
  cudaEvent_t event = nullptr;
  CAIRN_RETURN_IF_ERROR(
      CudaStatus(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "creating an event"));
  return CudaEvent(event);
}

absl::StatusOr<int64_t> Downloads::Start(void* pinned, const void* device, size_t bytes) {
  Copy copy{.number = ++last_};
  CAIRN_ASSIGN_OR_RETURN(copy.complete, TakeEvent());
  CAIRN_RETURN_IF_ERROR(
      CudaStatus(cudaEventRecord(computed_.get(), compute_), "recording an event"));
  CAIRN_RETURN_IF_ERROR(CudaStatus(cudaStreamWaitEvent(stream_.get(), computed_.get(), 0),
                                   "ordering a copy after an event"));
  CAIRN_RETURN_IF_ERROR(
      CudaStatus(cudaMemcpyAsync(pinned, device, bytes, cudaMemcpyDeviceToHost, stream_.get()),
                 absl::StrCat("copying ", bytes, " bytes from ", device_)));
  CAIRN_RETURN_IF_ERROR(
      CudaStatus(cudaEventRecord(copy.complete.get(), stream_.get()), "recording an event"));
  pending_.push_back(std::move(copy));
  return last_;
}

absl::Status Downloads::Wait(int64_t copy) {
  absl::Status status;
  while (!pending_.empty() && pending_.front().number <= copy) {
    Copy& first = pending_.front();
    // Copies complete in their order.
    if (first.number == copy) {
      status = CudaStatus(cudaEventSynchronize(first.complete.get()),
                          absl::StrCat("waiting for a copy from ", device_));
    }
    unused_.push_back(std::move(first.complete));
    pending_.pop_front();
  }
  return status;
}

}  // namespace cairn::nn
