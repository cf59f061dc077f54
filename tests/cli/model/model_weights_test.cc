#include "cli/model/model_weights.h"

#include <cmath>
#include <limits>

#include "cli/files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/example_job.h"

namespace cairn::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ModelWeightsTest, AVariableIsFoundUnderKerassLongerNames) {
  for (const char* name :
       {"dense/kernel", "dense/kernel:0", "model/dense/kernel", "a/b/dense/kernel:0",
        "dense/lstm_cell_2/kernel", "dense/conv_lstm_cell/kernel"}) {
    EXPECT_TRUE(IsWeightOf("dense/kernel", name)) << name;
  }
  for (const char* name : {"", "kernel", "dense/bias", "condense/kernel", "dense/kernel/m",
                           "dense/other/kernel", "dense/kernel:1"}) {
    EXPECT_FALSE(IsWeightOf("dense/kernel", name)) << name;
  }
  for (const char* name : {"lstm_cell_1/bias", "rnn/stacked_rnn_cells/lstm_cell_1/bias:0"}) {
    EXPECT_TRUE(IsWeightOf("lstm_cell_1/bias", name)) << name;
    EXPECT_FALSE(IsWeightOf("cell_1/bias", name)) << name;
  }
}

TEST(ModelWeightsTest, WhatIsNoNumberIsNamed) {
  EXPECT_TRUE(ExpectNumbers({"dense/kernel", {2}, {1, -1e30f}}).ok());
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    EXPECT_THAT(std::string(ExpectNumbers({"dense/kernel", {2}, {1, bad}}).message()),
                HasSubstr("dense/kernel is "));
  }
}

TEST(ModelWeightsTest, AFileThatIsWrongIsNamedOnce) {
  const std::string folder = testing::TempDir() + "/model_weights_test";
  ASSERT_TRUE(WriteFile(folder + "/keras.json", ExampleModelJson()).ok());
  EXPECT_TRUE(ReadImportedModel(folder + "/keras.json")->weights.empty());
  ASSERT_TRUE(WriteFile(folder + "/bad.json", "{}").ok());
  EXPECT_THAT(std::string(ReadImportedModel(folder + "/bad.json").status().message()),
              StartsWith(folder + "/bad.json: "));
  const absl::Status missing = ReadImportedModel(folder + "/none.json").status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(AtModelFile(folder + "/none.json", missing), missing);
}

}  // namespace
}  // namespace cairn::cli
