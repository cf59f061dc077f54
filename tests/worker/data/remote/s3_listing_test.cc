#include "worker/data/remote/s3_listing.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn::worker {
namespace {

using ::testing::ElementsAre;

constexpr char kHead[] = "<ListBucketResult xmlns=\"x\"><Name>b</Name>";

TEST(PercentEncode, BytesOfNames) {
  EXPECT_EQ(PercentEncode("a/b c+\xc3\xa9~-._", true), "a/b%20c%2B%C3%A9~-._");
  EXPECT_EQ(PercentEncode("a/b", false), "a%2Fb");
}

TEST(S3Page, KeysAreDecoded) {
  const auto page = ParseS3Page(std::string(kHead) +
                                "<IsTruncated>true</IsTruncated>"
                                "<Contents><Key>a/b%20c%2B%C3%A9</Key><Size>1</Size></Contents>"
                                "<Contents><Size>1</Size><Key>x+y&amp;z</Key></Contents>"
                                "<NextContinuationToken>t&lt;k</NextContinuationToken>"
                                "</ListBucketResult>");
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_THAT(page->keys, ElementsAre("a/b c+\xc3\xa9", "x y&z"));
  EXPECT_EQ(page->next, "t<k");
}

TEST(S3Page, LastPageMayBeEmpty) {
  const auto page =
      ParseS3Page(std::string(kHead) + "<IsTruncated>false</IsTruncated></ListBucketResult>");
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_TRUE(page->keys.empty());
  EXPECT_EQ(page->next, "");
}

TEST(S3Page, DamagedOnesAreRefused) {
  const std::string end = "</ListBucketResult>";
  const std::string whole = std::string(kHead) + "<IsTruncated>false</IsTruncated>";
  for (const std::string& xml :
       {std::string(), std::string("<html>"), whole, std::string(kHead) + end,
        std::string(kHead) + "<IsTruncated>maybe</IsTruncated>" + end,
        std::string(kHead) + "<IsTruncated>true</IsTruncated>" + end,
        whole + "<Contents></Contents>" + end, whole + "<Contents><Key>a%2</Key></Contents>" + end,
        whole + "<Contents><Key>&x;</Key></Contents>" + end,
        whole + "<Contents><Key><b></Key></Contents>" + end}) {
    EXPECT_TRUE(absl::IsDataLoss(ParseS3Page(xml).status())) << xml;
  }
}

}  // namespace
}  // namespace cairn::worker
