// `cairn profile` with a cluster that runs no job. tests/end_to_end/profile_test.cc profiles a job.

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/fake_cluster.h"
#include "tests/cli/run_cairn.h"

namespace cairn::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ProfileCommandTest : public testing::Test {
 protected:
  Result Profile(std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"profile", "example"});
    flags.insert(flags.end(), {"--coordinator", cluster_.address()});
    return RunCairn(flags);
  }

  FakeCluster cluster_;
};

TEST_F(ProfileCommandTest, AMeasurementWithoutAStepIsAFailure) {
  const Result result = Profile({"--timeout", "1.5"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(result.err,
              HasSubstr("no worker completed a step within 1.5 s: job 1 (example) is "));
}

TEST_F(ProfileCommandTest, ATraceThatCannotBeWrittenIsRefusedBeforeTheMeasurement) {
  const Result result = Profile({"--trace", "/dev/null/trace.json"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--trace: cannot create the folder /dev/null"));
}

TEST_F(ProfileCommandTest, NumbersOutOfRangeAreNamedWithTheirRange) {
  for (const char* value : {"-1", "0", "1e99", "nan"}) {
    const Result result = Profile({"--timeout", value});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr("profile: --timeout: \"" + std::string(value) +
                                      "\" is not a number from 0.001 to 3600"));
  }
  EXPECT_THAT(Profile({"--steps", "0"}).err,
              HasSubstr("profile: --steps: \"0\" is not a whole number from 1 to 10000"));
}

}  // namespace
}  // namespace cairn::cli
