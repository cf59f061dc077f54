#ifndef CAIRN_TESTS_FUZZ_MEMORY_FILE_H_
#define CAIRN_TESTS_FUZZ_MEMORY_FILE_H_

#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "common/check.h"

namespace cairn::fuzz {

// A file in memory, for parsers that take a path.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : descriptor_(memfd_create("input", MFD_CLOEXEC)) {
    CAIRN_CHECK(descriptor_ >= 0);
    const ssize_t written = write(descriptor_, bytes.data(), bytes.size());
    CAIRN_CHECK(written == static_cast<ssize_t>(bytes.size()));
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  const int descriptor_;
};

}  // namespace cairn::fuzz

#endif  // CAIRN_TESTS_FUZZ_MEMORY_FILE_H_
