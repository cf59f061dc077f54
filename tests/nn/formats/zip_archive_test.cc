#include "nn/formats/zip_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace cairn::nn {
namespace {

using ::testing::HasSubstr;

TEST(ZipArchiveTest, MembersAreReadBack) {
  const std::string large(100'000, 'x');
  const auto archive = WriteZip({{"a.json", "{}"}, {"folder/b", large}, {"empty", ""}});
  ASSERT_TRUE(archive.ok()) << archive.status();
  EXPECT_EQ(ReadZipMember(*archive, "a.json").value(), "{}");
  EXPECT_EQ(ReadZipMember(*archive, "folder/b").value(), large);
  EXPECT_EQ(ReadZipMember(*archive, "empty").value(), "");
  EXPECT_EQ(ReadZipMember(*archive, "b").status(), absl::NotFoundError("the zip file has no b"));
  EXPECT_EQ(WriteZip({{"a.json", "{}"}, {"folder/b", large}, {"empty", ""}}).value(), *archive);
}

TEST(ZipArchiveTest, DamageIsFound) {
  const std::string archive = *WriteZip({{"a", "some contents of the member"}});
  std::string changed = archive;
  changed[archive.find("contents")] ^= 1;
  EXPECT_THAT(std::string(ReadZipMember(changed, "a").status().message()),
              HasSubstr("damaged zip file: CRC error"));
  for (size_t size = 0; size < archive.size(); ++size) {
    EXPECT_FALSE(ReadZipMember(archive.substr(0, size), "a").ok()) << size;
  }
}

TEST(ZipArchiveTest, ABombIsNotExpanded) {
  std::string archive = *WriteZip({{"a", "some contents of the member"}});
  // The uncompressed size, in the member's header and in the directory.
  const uint32_t claimed = 0x7fffffff;
  std::memcpy(archive.data() + archive.find("PK\x03\x04") + 22, &claimed, 4);
  std::memcpy(archive.data() + archive.find("PK\x01\x02") + 24, &claimed, 4);
  EXPECT_THAT(std::string(ReadZipMember(archive, "a").status().message()),
              HasSubstr("zip member a claims 2147483647 bytes from 27"));
}

}  // namespace
}  // namespace cairn::nn
