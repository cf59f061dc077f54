#include "nn/formats/layer_writers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cairn::nn {
namespace {

using ::testing::ElementsAre;

TEST(LayerWritersTest, ColumnsAreTakenFromEachRow) {
  EXPECT_THAT(Columns({1, 2, 3, 4, 5, 6}, 3, 1, 3), ElementsAre(2, 3, 5, 6));
  EXPECT_THAT(Columns({1, 2, 3, 4, 5, 6}, 2, 0, 1), ElementsAre(1, 3, 5));
  EXPECT_TRUE(Columns({}, 2, 0, 1).empty());
}

}  // namespace
}  // namespace cairn::nn
