#include "job/data_formats/npz_format.h"

#include "gtest/gtest.h"
#include "tests/nn/test_model.h"

namespace cairn::job {
namespace {

proto::DataSource Source(const std::vector<std::string>& features,
                         const std::vector<std::string>& labels) {
  proto::DataSource source;
  source.mutable_npz()->mutable_features()->Assign(features.begin(), features.end());
  source.mutable_npz()->mutable_labels()->Assign(labels.begin(), labels.end());
  return source;
}

TEST(NpzFormatTest, ArraysAreNamed) {
  const auto check = [](const proto::DataSource& source) {
    return std::string(NpzFormat().check("npz", source, {}).message());
  };
  EXPECT_EQ(check(Source({"x"}, {"y"})), "");
  EXPECT_EQ(check(Source({}, {"y"})),
            "npz.features: is missing; name an array of the file, for example \"x_train\"");
  EXPECT_EQ(check(Source({"x"}, {})),
            "npz.labels: is missing; name an array of the file, for example \"y_train\"");
  EXPECT_EQ(check(Source({"x"}, {""})), "npz.labels: \"\" is not the name of an array");
}

TEST(NpzFormatTest, ThereIsAnArrayForEachInputAndOutput) {
  const auto model = nn::testing::ModelOf(
      {{"in", "InputLayer", R"({"batch_shape": [null, 2]})"}, {"out", "Dense", R"({"units": 3})"}});
  const auto check = [&](const proto::DataSource& source) {
    return std::string(NpzFormat().check_model("npz", source, *model).message());
  };
  EXPECT_EQ(check(Source({"x"}, {"y"})), "");
  EXPECT_EQ(check(Source({"a", "b"}, {"y"})),
            "npz.features: names 2 arrays, the model has 1 input; one array per input");
  EXPECT_EQ(check(Source({"x"}, {"y", "z"})),
            "npz.labels: names 2 arrays, the model has 1 output; one array per output");
}

TEST(NpzFormatTest, ValidationHasTheNamesOfTraining) {
  const proto::DataSource train = Source({"x"}, {"y"});
  proto::DataSource validation = Source({"x_test"}, {});
  NpzFormat().inherit(train, &validation);
  EXPECT_EQ(validation.npz().features(0), "x_test");
  EXPECT_EQ(validation.npz().labels(0), "y");
}

}  // namespace
}  // namespace cairn::job
