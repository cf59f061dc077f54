#include "nn/formats/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

namespace cairn::nn {
namespace {

using nlohmann::json;

TEST(SafetensorsTest, TheHeaderHasThePlaceOfEachTensor) {
  const std::vector<NamedTensor> weights = {{"b/kernel", {2, 1}, {1, 2}}, {"a", {}, {3}}};
  const auto files = WriteSafetensors({}, weights);
  ASSERT_TRUE(files.ok()) << files.status();
  const std::string& file = files->at(0);
  uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof(length));
  EXPECT_EQ(length % 8, 0);
  const json header = json::parse(file.substr(8, length));
  EXPECT_EQ(header["a"], json::parse(R"({"dtype": "F32", "shape": [], "data_offsets": [0, 4]})"));
  EXPECT_EQ(header["b/kernel"],
            json::parse(R"({"dtype": "F32", "shape": [2, 1], "data_offsets": [4, 12]})"));
  const float values[] = {3, 1, 2};
  EXPECT_EQ(file.substr(8 + length), std::string(reinterpret_cast<const char*>(values), 12));
}

TEST(SafetensorsTest, NamesAreUniqueAndTensorsAreFilled) {
  EXPECT_EQ(WriteSafetensors({}, {{"a", {1}, {3}}, {"a", {1}, {3}}}).status().message(),
            "two weights are named a");
  EXPECT_FALSE(WriteSafetensors({}, {{"a", {2}, {3}}}).ok());
}

}  // namespace
}  // namespace cairn::nn
