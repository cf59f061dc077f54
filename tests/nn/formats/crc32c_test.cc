#include "nn/formats/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace cairn::nn {
namespace {

// The vectors of RFC 3720, and that of TensorFlow's event files.
TEST(Crc32cTest, KnownValues) {
  EXPECT_EQ(Crc32c(""), 0u);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(MaskedCrc(Crc32c("\x1a\x11"
                             "CRC test, one two")),
            0x5794d08au);
}

TEST(Crc32cTest, PartsGiveTheChecksumOfTheWhole) {
  const std::string text = "a text of more than eight bytes";
  for (size_t i = 0; i <= text.size(); ++i) {
    EXPECT_EQ(Crc32c(text.substr(i), Crc32c(text.substr(0, i))), Crc32c(text)) << i;
  }
}

}  // namespace
}  // namespace cairn::nn
