#include "common/job_name.h"

#include "gtest/gtest.h"

namespace cairn {
namespace {

TEST(JobNameTest, NamesThatCommandsAndFilesCanHoldAreGood) {
  for (const char* name : {"a", "fashion_mnist_cnn", "Job-2.1", "2nd", "_"}) {
    EXPECT_TRUE(CheckJobName(name).ok()) << name;
  }
  EXPECT_TRUE(CheckJobName(std::string(128, 'a')).ok());
}

TEST(JobNameTest, OtherNamesAreRefusedWithTheRule) {
  for (const std::string name : {"a b", "-a", ".a", "a/b", "a\nb", "caf\xc3\xa9"}) {
    EXPECT_EQ(CheckJobName(name).message(),
              "name: \"" + name +
                  "\" is not made of at most 128 letters, digits, '_', '-' and '.', beginning with "
                  "none of the last two");
  }
  EXPECT_FALSE(CheckJobName(std::string(129, 'a')).ok());
}

TEST(JobNameTest, MissingNamesAndNumbersAreRefusedForWhatTheyAre) {
  EXPECT_EQ(CheckJobName("").message(), "name: is missing; for example \"name\": \"mnist\"");
  EXPECT_EQ(CheckJobName("42").message(),
            "name: \"42\" has digits only and would be taken for an id");
}

}  // namespace
}  // namespace cairn
