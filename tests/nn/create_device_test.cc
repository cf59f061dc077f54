#include "nn/create_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace cairn::nn {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(CreateDeviceTest, TheCpuIsTheHost) {
  absl::StatusOr<std::unique_ptr<Device>> device = CreateDevice("cpu");
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_EQ((*device)->name(), "cpu");
  EXPECT_TRUE((*device)->memory_is_host());
}

TEST(CreateDeviceTest, AutoIsTheFirstGpuOrTheCpu) {
  absl::StatusOr<std::unique_ptr<Device>> device = CreateDevice("auto");
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_THAT((*device)->name(), StartsWith(CreateDevice("cuda").ok() ? "cuda:0 (" : "cpu"));
}

TEST(CreateDeviceTest, AnUnknownKindListsTheKinds) {
  for (const char* kind : {"tpu", "cuda:", "cuda:x"}) {
    const absl::Status status = CreateDevice(kind).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    for (const std::string& word :
         {std::string(kind) + "'", std::string("auto, cpu, cuda, cuda:N")}) {
      EXPECT_THAT(std::string(status.message()), HasSubstr(word));
    }
  }
}

// This program does not ship the GPU library, so it is found only if the host has it installed.
TEST(CreateDeviceTest, CudaIsAGpuOrSaysWhatIsMissing) {
  absl::StatusOr<std::unique_ptr<Device>> device = CreateDevice("cuda");
  if (device.ok()) {
    EXPECT_THAT((*device)->name(), StartsWith("cuda:0 ("));
    return;
  }
  EXPECT_EQ(device.status().code(), absl::StatusCode::kFailedPrecondition) << device.status();
  EXPECT_THAT(std::string(device.status().message()),
              AnyOf(HasSubstr("libcairn_cuda.so"), HasSubstr("driver"), HasSubstr("GPU")));
}

}  // namespace
}  // namespace cairn::nn
