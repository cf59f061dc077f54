#include "common/job_name.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn {
namespace {

using ::testing::HasSubstr;

TEST(JobNameTest, NamesThatCommandsAndFilesCanHoldAreGood) {
  for (const char* name : {"a", "fashion_mnist_cnn", "Job-2.1", "2nd", "_"}) {
    EXPECT_TRUE(CheckJobName(name).ok()) << name;
  }
  EXPECT_TRUE(CheckJobName(std::string(128, 'a')).ok());
}

TEST(JobNameTest, OtherNamesAreRefusedWithTheRule) {
  for (const std::string name : {"a b", "-a", ".a", "a/b", "caf\xc3\xa9"}) {
    EXPECT_EQ(CheckJobName(name).message(),
              "name: \"" + name +
                  "\" is not made of at most 128 letters, digits, '_', '-' and '.', beginning with "
                  "none of the last two");
  }
  EXPECT_THAT(std::string(CheckJobName("a\nb").message()), HasSubstr("name: \"a\\nb\" is not"));
  EXPECT_THAT(std::string(CheckJobName(std::string(300, 'a')).message()),
              HasSubstr("\"" + std::string(128, 'a') + "...\" (300 characters) is not made of"));
}

TEST(JobNameTest, MissingNamesAndNumbersAreRefusedForWhatTheyAre) {
  EXPECT_EQ(CheckJobName("").message(),
            "name: is missing or empty; for example \"name\": \"mnist\"");
  EXPECT_EQ(CheckJobName("42").message(),
            "name: \"42\" has digits only and would be taken for an id");
}

}  // namespace
}  // namespace cairn
