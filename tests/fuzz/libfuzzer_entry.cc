// The entry that libFuzzer calls (bazel test --config=fuzz).

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cairn::fuzz::RunInput(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
