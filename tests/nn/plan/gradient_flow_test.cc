#include "nn/plan/gradient_flow.h"

#include "gtest/gtest.h"
#include "tests/nn/test_model.h"

namespace cairn::nn::testing {
namespace {

using GradientWrite = GradientFlow::GradientWrite;

const TestLayer kInput = {"input", "InputLayer", R"({"batch_shape": [null, 5]})"};

TEST(GradientFlowTest, NothingFlowsBelowTheLowestTrainedLayer) {
  const std::unique_ptr<Model> model =
      ModelOf({kInput,
               {"base", "Dense", R"({"units": 4, "trainable": false})"},
               {"middle", "Dense", R"({"units": 4})"},
               {"head", "Activation", R"({"activation": "relu"})"}});
  const GradientFlow flow(*model);
  EXPECT_EQ(flow.needed, std::vector<bool>({false, false, true, true}));
  EXPECT_EQ(flow.writes[2][0], GradientWrite::kNone);
  EXPECT_EQ(flow.writes[3][0], GradientWrite::kWrite);
}

TEST(GradientFlowTest, OfSeveralTakersTheLastWritesAndTheOthersAdd) {
  const std::unique_ptr<Model> model = ModelOf({kInput,
                                                {"stem", "Dense", R"({"units": 4})"},
                                                {"left", "Dense", R"({"units": 4})", {"stem"}},
                                                {"sum", "Add", "{}", {"stem", "left"}}});
  const GradientFlow flow(*model);
  EXPECT_EQ(flow.writes[3],
            std::vector<GradientWrite>({GradientWrite::kWrite, GradientWrite::kWrite}));
  EXPECT_EQ(flow.writes[2], std::vector<GradientWrite>({GradientWrite::kAdd}));
}

TEST(GradientFlowTest, OnlyAViewThatIsAloneSharesItsInputsGradient) {
  const std::unique_ptr<Model> alone =
      ModelOf({kInput, {"stem", "Dense", R"({"units": 4})"}, {"view", "Flatten"}});
  EXPECT_TRUE(GradientFlow(*alone).shares_gradient[2]);
  const std::unique_ptr<Model> shared = ModelOf({kInput,
                                                 {"stem", "Dense", R"({"units": 4})"},
                                                 {"view", "Flatten", "{}", {"stem"}},
                                                 {"sum", "Add", "{}", {"stem", "view"}}});
  EXPECT_FALSE(GradientFlow(*shared).shares_gradient[2]);
}

TEST(GradientFlowTest, WhereThereIsALossItsGradientIsTheFirst) {
  const std::unique_ptr<Model> model = ModelOf({kInput,
                                                {"stem", "Dense", R"({"units": 4})"},
                                                {"view", "Flatten", "{}", {"stem"}},
                                                {"head", "Dense", R"({"units": 4})", {"view"}}},
                                               {"stem", "head"});
  const GradientFlow flow(*model);
  EXPECT_EQ(flow.writes[3], std::vector<GradientWrite>({GradientWrite::kWrite}));
  EXPECT_EQ(flow.writes[2], std::vector<GradientWrite>({GradientWrite::kAdd}));
  EXPECT_FALSE(flow.shares_gradient[2]);
}

}  // namespace
}  // namespace cairn::nn::testing
