#ifndef CAIRN_NN_DEVICE_BUFFER_H_
#define CAIRN_NN_DEVICE_BUFFER_H_

#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "nn/device.h"

namespace cairn::nn {

// Owns `count` floats in a device's memory. Movable, not copyable. The device must outlive the
// buffer.
class DeviceBuffer {
 public:
  static absl::StatusOr<DeviceBuffer> Create(Device* device, int64_t count) {
    absl::StatusOr<void*> memory = device->Allocate(static_cast<size_t>(count) * sizeof(float));
    if (!memory.ok()) return memory.status();
    return DeviceBuffer(device, static_cast<float*>(*memory));
  }

  // An empty buffer; data() is null.
  DeviceBuffer() = default;
  ~DeviceBuffer() {
    if (device_ != nullptr) device_->Free(data_);
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)),
        data_(std::exchange(other.data_, nullptr)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    return *this;
  }

  float* data() const { return data_; }

 private:
  DeviceBuffer(Device* device, float* data) : device_(device), data_(data) {}

  Device* device_ = nullptr;
  float* data_ = nullptr;
};

// Owns `count` values in host memory that a device copies to and from. Movable, not copyable. The
// device must outlive the buffer.
template <typename T>
class HostBuffer {
 public:
  static absl::StatusOr<HostBuffer> Create(Device* device, int64_t count) {
    absl::StatusOr<void*> memory = device->AllocateHost(static_cast<size_t>(count) * sizeof(T));
    if (!memory.ok()) return memory.status();
    return HostBuffer(device, static_cast<T*>(*memory), static_cast<size_t>(count));
  }

  // An empty buffer.
  HostBuffer() = default;
  ~HostBuffer() {
    if (device_ != nullptr) device_->FreeHost(values_.data());
  }
  HostBuffer(HostBuffer&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)), values_(std::exchange(other.values_, {})) {}
  HostBuffer& operator=(HostBuffer&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(values_, other.values_);
    return *this;
  }

  absl::Span<T> values() const { return values_; }

 private:
  HostBuffer(Device* device, T* data, size_t count) : device_(device), values_(data, count) {}

  Device* device_ = nullptr;
  absl::Span<T> values_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_DEVICE_BUFFER_H_
