#include "worker/data/cifar_file.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/worker/data/data_files.h"

namespace cairn::worker {
namespace {

using ::testing::HasSubstr;

// An example of the binary format: labels, then planes whose pixel p of channel c is
// (p + 100 c + first) % 256.
std::string Example(const std::string& labels, int first) {
  std::string bytes = labels;
  for (int c = 0; c < 3; ++c) {
    for (int p = 0; p < 1024; ++p) bytes.push_back(static_cast<char>((p + 100 * c + first) % 256));
  }
  return bytes;
}

absl::StatusOr<CifarArrays> Read(const std::string& bytes, const CifarKind& kind) {
  return ReadCifarFile(FileBytes::InMemory("batch.bin", bytes), kind);
}

int Label(const Array& labels, int64_t row) {
  std::string scratch;
  int32_t label = -1;
  labels.RowToInts(*labels.Row(row, &scratch), &label);
  return label;
}

TEST(CifarFileTest, PlanesBecomeHeightWidthChannel) {
  const auto arrays = Read(Example("\7", 0) + Example(std::string(1, '\0'), 5), kCifar10);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  EXPECT_EQ(arrays->images.ToString(), "uint8 (2, 32, 32, 3)");
  EXPECT_EQ(arrays->labels.ToString(), "uint8 (2,)");
  EXPECT_EQ(Label(arrays->labels, 0), 7);
  EXPECT_EQ(Label(arrays->labels, 1), 0);
  std::vector<float> image(3072);
  std::string scratch;
  arrays->images.RowToFloats(*arrays->images.Row(1, &scratch), 1, image.data());
  for (int row : {0, 1, 31}) {
    for (int column : {0, 7, 31}) {
      for (int c = 0; c < 3; ++c) {
        EXPECT_EQ(image[(row * 32 + column) * 3 + c], (row * 32 + column + 100 * c + 5) % 256);
      }
    }
  }
}

TEST(CifarFileTest, Cifar100HasACoarseAndAFineLabel) {
  const std::string bytes = Example("\x13\x63", 0);
  EXPECT_EQ(Label(Read(bytes, kCifar100Coarse)->labels, 0), 19);
  EXPECT_EQ(Label(Read(bytes, kCifar100Fine)->labels, 0), 99);
  float pixel[3072];
  std::string scratch;
  const auto arrays = Read(bytes, kCifar100Fine);
  arrays->images.RowToFloats(*arrays->images.Row(0, &scratch), 1, pixel);
  EXPECT_EQ(pixel[2], 200);
}

TEST(CifarFileTest, WhatIsNotOfTheFormatIsRefused) {
  const std::string good = Example("\1", 0);
  const std::pair<std::string, const char*> cases[] = {
      {good.substr(0, 3000), "3000 bytes are 0 examples of 3073 bytes and 3000 more"},
      {good + good.substr(0, 10), "3083 bytes are 1 examples of 3073 bytes and 10 more"},
      {good + Example("\x0a", 0), "not CIFAR-10's binary format: row 1 has label 10, labels are"},
  };
  for (const auto& [bytes, reason] : cases) {
    const auto arrays = Read(bytes, kCifar10);
    EXPECT_THAT(std::string(arrays.status().message()), HasSubstr(reason));
    EXPECT_THAT(std::string(arrays.status().message()), HasSubstr("data file batch.bin: "));
  }
}

}  // namespace
}  // namespace cairn::worker
