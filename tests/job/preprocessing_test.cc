#include "job/preprocessing.h"

#include <vector>

#include "gtest/gtest.h"
#include "tests/nn/test_model.h"

namespace cairn::job {
namespace {

class PreprocessingTest : public ::testing::Test {
 protected:
  PreprocessingTest() {
    source_.set_scale(0.5);
    source_.set_standardize(true);
    plan_.add_inputs();
    auto& wide = *plan_.add_inputs();
    wide.add_mean(1);
    wide.add_mean(2);
    wide.add_deviation(4);
    wide.add_deviation(0);
  }

  const std::unique_ptr<nn::Model> model_ =
      nn::testing::ModelOf({{"id", "InputLayer", R"({"batch_shape": [null, 1], "dtype": "int32"})"},
                            {"wide", "InputLayer", R"({"batch_shape": [null, 2]})"},
                            {"table", "Embedding", R"({"input_dim": 5, "output_dim": 2})", {"id"}},
                            {"deep", "Flatten", "{}", {"table"}},
                            {"both", "Concatenate", "{}", {"deep", "wide"}},
                            {"out", "Dense", R"({"units": 1})", {"both"}}});
  proto::DataSource source_;
  proto::DataPlan plan_;
};

TEST_F(PreprocessingTest, ScalesThenStandardizesEachPlaceByItsOwn) {
  const Preprocessing wide(source_, plan_, *model_, 1);
  EXPECT_EQ(wide.scale(), 0.5);
  std::vector<float> values = {18, 4, -6, 4};
  wide.Apply(absl::MakeSpan(values));
  EXPECT_EQ(values, (std::vector<float>{2, 0, -1, 0}));
}

TEST_F(PreprocessingTest, APlaceWithoutDeviationIsDividedByKerassSmallest) {
  const Preprocessing wide(source_, plan_, *model_, 1);
  std::vector<float> values = {0, 6};
  wide.Apply(absl::MakeSpan(values));
  EXPECT_FLOAT_EQ(values[1], 1e7f);
}

TEST_F(PreprocessingTest, WholeNumbersStayAsTheyAre) {
  const Preprocessing id(source_, plan_, *model_, 0);
  EXPECT_EQ(id.scale(), 1);
  std::vector<float> values = {3};
  id.Apply(absl::MakeSpan(values));
  EXPECT_EQ(values[0], 3);
}

TEST_F(PreprocessingTest, WithoutStatisticsThereIsOnlyTheScale) {
  const Preprocessing wide(source_, {}, *model_, 1);
  std::vector<float> values = {18, 4};
  wide.Apply(absl::MakeSpan(values));
  EXPECT_EQ(values, (std::vector<float>{9, 2}));
}

TEST_F(PreprocessingTest, StatisticsOfAStepAreNotThoseOfTheInput) {
  source_.set_standardize(false);
  const Preprocessing wide(source_, plan_, *model_, 1);
  std::vector<float> values = {18, 4};
  wide.Apply(absl::MakeSpan(values));
  EXPECT_EQ(values, (std::vector<float>{9, 2}));
}

}  // namespace
}  // namespace cairn::job
