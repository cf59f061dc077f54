#include "nn/cpu/aligned_memory.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "gtest/gtest.h"

namespace cairn::nn {
namespace {

TEST(AlignedMemoryTest, EverySizeIsAlignedAndUsableToItsEnd) {
  for (size_t bytes : {size_t{0}, size_t{1}, size_t{64}, size_t{2} << 20, (size_t{5} << 20) + 3}) {
    void* memory = AllocateAligned(bytes);
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
    std::memset(memory, 1, bytes);
    std::free(memory);
  }
}

}  // namespace
}  // namespace cairn::nn
