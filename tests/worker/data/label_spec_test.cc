#include "worker/data/label_spec.h"

#include <limits>
#include <string>

#include "gtest/gtest.h"
#include "job/job_objective.h"
#include "tests/nn/test_model.h"

namespace cairn::worker {
namespace {

// Of a vector in, a class of three and a number.
class LabelSpecTest : public ::testing::Test {
 protected:
  std::vector<LabelSpec> SpecsOf(const std::string& kind, const std::string& size,
                                 const proto::DataSource& source = {}) {
    proto::Job job;
    job.add_outputs()->mutable_loss()->set_name(kind);
    job.add_outputs()->mutable_loss()->set_name(size);
    objective_ = *job::CreateObjective(job, *model_);
    return LabelSpecs(source, *model_, objective_);
  }

  const std::unique_ptr<nn::Model> model_ =
      nn::testing::ModelOf({{"x", "InputLayer", R"({"batch_shape": [null, 2]})"},
                            {"kind", "Dense", R"({"units": 3})", {"x"}},
                            {"size", "Dense", R"({"units": 1})", {"x"}}},
                           {"kind", "size"});
  nn::Objective objective_;
};

TEST_F(LabelSpecTest, LossesBoundTheirLabels) {
  const auto specs = SpecsOf("sparse_categorical_crossentropy", "mse");
  ASSERT_EQ(specs.size(), 2u);
  EXPECT_EQ(specs[0].type, proto::INT32);
  EXPECT_TRUE(specs[0].has_bounds());
  EXPECT_EQ(specs[0].least, 0);
  EXPECT_EQ(specs[0].most, 2);
  EXPECT_EQ(specs[0].Taker(), "loss sparse_categorical_crossentropy, model output 'kind' (3,)");
  EXPECT_EQ(specs[1].type, proto::FLOAT32);
  EXPECT_FALSE(specs[1].has_bounds());
  EXPECT_EQ(specs[1].most, std::numeric_limits<double>::infinity());
  const auto others = SpecsOf("categorical_crossentropy", "binary_crossentropy");
  for (const LabelSpec& spec : others) {
    EXPECT_EQ(spec.type, proto::FLOAT32);
    EXPECT_EQ(spec.least, 0);
    EXPECT_EQ(spec.most, 1);
  }
}

TEST_F(LabelSpecTest, LabelsReachTheLossInItsShapeOrAreRefused) {
  const auto specs = SpecsOf("sparse_categorical_crossentropy", "mse");
  EXPECT_EQ(*specs[0].ShapeAtLoss({}), nn::Shape());
  EXPECT_EQ(*specs[1].ShapeAtLoss({1}), nn::Shape{1});
  EXPECT_EQ(specs[0].ShapeAtLoss({4}).status().message(),
            "loss sparse_categorical_crossentropy: labels of shape (4,) per example do not fit the "
            "model's output (3,), which wants one number");
  EXPECT_EQ(*LabelSpec().ShapeAtLoss({7}), nn::Shape{7});
}

TEST_F(LabelSpecTest, ClassNumbersBecomeVectors) {
  proto::DataSource source;
  source.add_one_hot_outputs("kind");
  const auto specs = SpecsOf("categorical_crossentropy", "mse", source);
  EXPECT_EQ(specs[0].type, proto::INT32);
  EXPECT_EQ(specs[0].most, 2);
  EXPECT_EQ(specs[0].one_hot, 3);
  EXPECT_EQ(*specs[0].ShapeAtLoss({}), nn::Shape{3});
  EXPECT_EQ(*specs[0].ShapeAtLoss({1}), nn::Shape{3});
  EXPECT_EQ(specs[1].one_hot, 0);
  EXPECT_EQ(SpecsOf("sparse_categorical_crossentropy", "mse", source)[0]
                .ShapeAtLoss({})
                .status()
                .message(),
            "loss sparse_categorical_crossentropy takes class numbers, not vectors: leave out "
            "\"one_hot\"");
}

}  // namespace
}  // namespace cairn::worker
