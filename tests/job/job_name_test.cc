#include "job/job_name.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn::job {
namespace {

using ::testing::HasSubstr;

TEST(JobNameTest, ValidNamesAreAccepted) {
  for (const char* name : {"a", "fashion_mnist_cnn", "Job-2.1", "2nd", "_"}) {
    EXPECT_TRUE(CheckJobName(name).ok()) << name;
  }
  EXPECT_TRUE(CheckJobName(std::string(128, 'a')).ok());
}

TEST(JobNameTest, InvalidNamesAreRefusedWithTheRule) {
  for (const std::string name : {"a b", "-a", ".a", "a/b", "caf\xc3\xa9"}) {
    EXPECT_EQ(CheckJobName(name).message(),
              "name: \"" + name +
                  "\" must consist of at most 128 letters, digits, '_', '-' and '.', and must not "
                  "begin with '-' or '.'");
  }
  EXPECT_THAT(std::string(CheckJobName("a\nb").message()),
              HasSubstr("name: \"a\\nb\" must consist of"));
  EXPECT_THAT(std::string(CheckJobName(std::string(300, 'a')).message()),
              HasSubstr("\"" + std::string(128, 'a') + "...\" (300 characters) must consist of"));
}

TEST(JobNameTest, MissingNamesAndNumbersHaveTheirOwnMessages) {
  EXPECT_EQ(CheckJobName("").message(),
            "name: is missing or empty; for example \"name\": \"mnist\"");
  EXPECT_EQ(CheckJobName("42").message(),
            "name: \"42\" consists of digits only, which is an id; add a letter");
}

}  // namespace
}  // namespace cairn::job
