#include "cluster/shared_memory/checksum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace cairn::cluster {
namespace {

std::string Bytes(size_t count) {
  std::string bytes;
  for (size_t i = 0; i < count; ++i) bytes.push_back(static_cast<char>(i * i + i / 255));
  return bytes;
}

// XXH3's published value for an empty input.
TEST(ChecksumTest, AnEmptyInputHasThePublishedValue) {
  EXPECT_EQ(Checksum().Digest(), 0x2d06800538d394c2u);
}

TEST(ChecksumTest, PiecesHaveTheChecksumOfTheWhole) {
  const std::string bytes = Bytes(100'000);
  const uint64_t expected = XXH3_64bits(bytes.data(), bytes.size());
  for (size_t part : {size_t{1}, size_t{7}, size_t{4096}, size_t{16384}, size_t{70'000}}) {
    Checksum checksum;
    for (size_t begin = 0; begin < bytes.size(); begin += part) {
      checksum.Add(bytes.data() + begin, std::min(part, bytes.size() - begin));
    }
    EXPECT_EQ(checksum.Digest(), expected) << part;
  }
}

TEST(ChecksumTest, CopyAndAddCopiesAndAdds) {
  for (size_t count : {size_t{0}, size_t{1}, size_t{16384}, size_t{16385}, size_t{100'000}}) {
    const std::string bytes = Bytes(count);
    std::string copy(count, '\0');
    Checksum checksum;
    checksum.CopyAndAdd(copy.data(), bytes.data(), count);
    EXPECT_EQ(copy, bytes);
    EXPECT_EQ(checksum.Digest(), XXH3_64bits(bytes.data(), count));
  }
}

}  // namespace
}  // namespace cairn::cluster
