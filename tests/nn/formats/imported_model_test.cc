#include "nn/formats/imported_model.h"

#include <gtest/gtest.h>

namespace cairn::nn {
namespace {

TEST(ImportedModelTest, ATensorHasAsManyValuesAsItsShape) {
  EXPECT_TRUE(CheckFilled({"w", {2, 1}, {1, 2}}).ok());
  EXPECT_TRUE(CheckFilled({"scalar", {}, {1}}).ok());
  EXPECT_EQ(CheckFilled({"w", {2, 2}, {1, 2}}).message(),
            "weight 'w' has 2 values, which do not fill its shape");
  EXPECT_FALSE(CheckFilled({"w", {-1, -2}, {1, 2}}).ok());
  EXPECT_FALSE(CheckFilled({"w", {int64_t{1} << 62, 4}, {}}).ok());
}

TEST(ImportedModelTest, WeightsAreThoseOfAllVariables) {
  const std::vector<VariableSpec> variables = {{.name = "d/bias", .shape = {2}}};
  EXPECT_TRUE(CheckWeights(variables, {{"b", {2}, {1, 2}}}).ok());
  EXPECT_EQ(CheckWeights(variables, {}).message(), "there are 0 weights for 1 variables");
  EXPECT_EQ(CheckWeights(variables, {{"b", {1, 2}, {1, 2}}}).message(),
            "weight 'b' does not have the shape of d/bias");
}

}  // namespace
}  // namespace cairn::nn
