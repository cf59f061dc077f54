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

TEST(CreateDeviceTest, AutoIsOneThatCanTrain) {
  absl::StatusOr<std::unique_ptr<Device>> device = CreateDevice("auto");
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_EQ((*device)->name(), "cpu");
}

TEST(CreateDeviceTest, AnUnknownKindListsTheKinds) {
  const absl::Status status = CreateDevice("tpu").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  for (const char* word : {"'tpu'", "auto", "cpu", "cuda"}) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(word));
  }
}

// This program does not ship the GPU library, so it is found only if the host has it installed.
TEST(CreateDeviceTest, CudaIsAGpuOrSaysWhatIsMissing) {
  absl::StatusOr<std::unique_ptr<Device>> device = CreateDevice("cuda");
  if (device.ok()) {
    EXPECT_THAT((*device)->name(), StartsWith("cuda:0 ("));
    return;
  }
  EXPECT_EQ(device.status().code(), absl::StatusCode::kUnavailable) << device.status();
  EXPECT_THAT(std::string(device.status().message()),
              AnyOf(HasSubstr("libcairn_cuda.so"), HasSubstr("driver"), HasSubstr("GPU")));
}

}  // namespace
}  // namespace cairn::nn
