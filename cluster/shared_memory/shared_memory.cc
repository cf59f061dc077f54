#include "cluster/shared_memory/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/failpoint.h"
#include "common/status_macros.h"

namespace cairn::cluster {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

absl::Status SystemError(const char* what) {
  return absl::UnavailableError(absl::StrCat("shared memory: ", what, ": ", std::strerror(errno)));
}

// Returns null on failure.
uint8_t* Map(int descriptor, size_t bytes) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  return data == MAP_FAILED ? nullptr : static_cast<uint8_t*>(data);
}

}  // namespace

absl::StatusOr<std::shared_ptr<SharedMemory>> SharedMemory::Create(uint64_t token, size_t bytes) {
  const int descriptor = memfd_create("cairn", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) return SystemError("memfd_create");
  uint8_t* data = nullptr;
  if (ftruncate(descriptor, static_cast<off_t>(bytes)) == 0 &&
      fcntl(descriptor, F_ADD_SEALS, kSeals) == 0) {
    data = Map(descriptor, bytes);
  }
  if (data == nullptr) {
    const absl::Status status = SystemError("cannot be created");
    close(descriptor);
    return status;
  }
  return std::shared_ptr<SharedMemory>(new SharedMemory(token, data, bytes, descriptor));
}

absl::StatusOr<std::shared_ptr<SharedMemory>> SharedMemory::Adopt(uint64_t token, int descriptor) {
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("shared_memory.adopt"));
  // Fails for everything but a memfd.
  const int seals = fcntl(descriptor, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    return absl::InvalidArgumentError("shared memory: the peer's descriptor is not a sealed memfd");
  }
  struct stat about = {};
  if (fstat(descriptor, &about) != 0) return SystemError("fstat");
  if (about.st_size < 1 || static_cast<uint64_t>(about.st_size) > kBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("shared memory: the peer's has ", about.st_size,
                                                   " bytes, expected 1 to ", kBytesMax));
  }
  const auto bytes = static_cast<size_t>(about.st_size);
  uint8_t* data = Map(descriptor, bytes);
  if (data == nullptr) return SystemError("mmap");
  return std::shared_ptr<SharedMemory>(new SharedMemory(token, data, bytes, -1));
}

SharedMemory::~SharedMemory() {
  munmap(data_, bytes_);
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace cairn::cluster
