#include "nn/config_arguments.h"

#include <gtest/gtest.h>

#include "proto/job.pb.h"

namespace cairn::nn {
namespace {

TEST(ConfigArgumentsTest, OnlyKnownArgumentsPass) {
  proto::Optimizer config;
  config.set_name("sgd");
  config.set_beta_1(0.5);
  EXPECT_TRUE(CheckArguments(config, {"beta_1", "beta_2"}).ok());
  EXPECT_EQ(CheckArguments(config, {"beta_2"}).message(),
            "unknown argument 'beta_1'; did you mean 'beta_2'? known: beta_2");
  EXPECT_EQ(CheckArguments(config, {}).message(), "unknown argument 'beta_1'; it has none");
}

TEST(ConfigArgumentsTest, EndsOfARangeAreInOrOut) {
  using Ends = ArgumentRange::Ends;
  EXPECT_TRUE(CheckArgument("x", 1, {0, 1}).ok());
  EXPECT_EQ(CheckArgument("x", 1, {0, 1, Ends::kBelowLargest}).message(),
            "'x' is 1; it must be from 0 to below 1");
  EXPECT_EQ(CheckArgument("x", 0, {.ends = Ends::kAboveSmallest}).message(),
            "'x' is 0; it must be finite and greater than 0");
  EXPECT_EQ(CheckArgument("x", 1, {-std::numeric_limits<double>::max(), 0}).message(),
            "'x' is 1; it must be finite and at most 0");
  EXPECT_FALSE(CheckArgument("x", 1e39, {}).ok()) << "infinite as a float";
  EXPECT_FALSE(CheckArgument("x", std::numeric_limits<double>::quiet_NaN(), {}).ok());
}

TEST(ConfigArgumentsTest, ClassNamesBecomeNames) {
  EXPECT_EQ(SnakeCase("CosineDecayRestarts"), "cosine_decay_restarts");
  EXPECT_EQ(SnakeCase("cosine_decay"), "cosine_decay");
  EXPECT_EQ(SnakeCase("MeanIoU"), "mean_io_u");
  EXPECT_EQ(SnakeCase(""), "");
}

}  // namespace
}  // namespace cairn::nn
