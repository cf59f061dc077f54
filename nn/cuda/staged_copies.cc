#include "nn/cuda/staged_copies.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/cuda/cuda_status.h"

namespace cairn::nn {
namespace {

// Large enough to hide the latency of a copy, small enough to overlap host and GPU within one
// variable.
constexpr size_t kBufferBytes = size_t{4} << 20;
constexpr size_t kAlignment = 64;

}  // namespace

absl::StatusOr<std::unique_ptr<StagedCopies>> StagedCopies::Create(cudaStream_t stream,
                                                                   std::string device) {
  auto copies = absl::WrapUnique(new StagedCopies(stream, std::move(device)));
  for (Buffer& buffer : copies->buffers_) {
    void* memory = nullptr;
    CAIRN_RETURN_IF_ERROR(CudaStatus(cudaMallocHost(&memory, kBufferBytes),
                                     absl::StrCat("pinning ", kBufferBytes, " bytes of memory")));
    buffer.memory.reset(static_cast<char*>(memory));
    cudaEvent_t event = nullptr;
    CAIRN_RETURN_IF_ERROR(
        CudaStatus(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "creating an event"));
    buffer.copied.reset(event);
  }
  return copies;
}

absl::Status StagedCopies::ToDevice(void* device, const void* host, size_t bytes) {
  char* to = static_cast<char*>(device);
  const char* from = static_cast<const char*>(host);
  while (bytes > 0) {
    if (buffers_[turn_].used == kBufferBytes) {
      turn_ = 1 - turn_;
      CAIRN_RETURN_IF_ERROR(Wait(buffers_[turn_]));
      buffers_[turn_].used = 0;
    }
    const size_t part = std::min(bytes, kBufferBytes - buffers_[turn_].used);
    CAIRN_RETURN_IF_ERROR(Send(&buffers_[turn_], to, from, part));
    to += part;
    from += part;
    bytes -= part;
  }
  return absl::OkStatus();
}

absl::Status StagedCopies::FromDevice(void* host, const void* device, size_t bytes) {
  char* to = static_cast<char*>(host);
  const char* from = static_cast<const char*>(device);
  const auto part = [&](size_t offset) { return std::min(bytes - offset, kBufferBytes); };
  // Start the transfer of one buffer ahead, so that the GPU copies while the host drains the other.
  if (bytes > 0) CAIRN_RETURN_IF_ERROR(Fetch(&buffers_[0], from, part(0)));
  size_t current = 0;
  for (size_t offset = 0; offset < bytes; offset += kBufferBytes, current = 1 - current) {
    const size_t next = offset + kBufferBytes;
    if (next < bytes) {
      CAIRN_RETURN_IF_ERROR(Fetch(&buffers_[1 - current], from + next, part(next)));
    }
    CAIRN_RETURN_IF_ERROR(Wait(buffers_[current]));
    std::memcpy(to + offset, buffers_[current].memory.get(), part(offset));
  }
  return absl::OkStatus();
}

absl::Status StagedCopies::Send(Buffer* buffer, void* device, const char* host, size_t bytes) {
  char* const staged = buffer->memory.get() + buffer->used;
  std::memcpy(staged, host, bytes);
  buffer->used =
      std::min(kBufferBytes, (buffer->used + bytes + kAlignment - 1) / kAlignment * kAlignment);
  CAIRN_RETURN_IF_ERROR(
      CudaStatus(cudaMemcpyAsync(device, staged, bytes, cudaMemcpyHostToDevice, stream_),
                 absl::StrCat("copying ", bytes, " bytes to ", device_)));
  return CudaStatus(cudaEventRecord(buffer->copied.get(), stream_), "recording an event");
}

// No wait for the buffer's copies to the device: this copy follows them in the stream's order.
absl::Status StagedCopies::Fetch(Buffer* buffer, const char* device, size_t bytes) {
  CAIRN_RETURN_IF_ERROR(CudaStatus(
      cudaMemcpyAsync(buffer->memory.get(), device, bytes, cudaMemcpyDeviceToHost, stream_),
      absl::StrCat("copying ", bytes, " bytes from ", device_)));
  return CudaStatus(cudaEventRecord(buffer->copied.get(), stream_), "recording an event");
}

absl::Status StagedCopies::Wait(const Buffer& buffer) {
  return CudaStatus(cudaEventSynchronize(buffer.copied.get()),
                    absl::StrCat("waiting for a copy of ", device_));
}

}  // namespace cairn::nn
