#include "job/data_url.h"

#include "gtest/gtest.h"

namespace cairn::job {
namespace {

TEST(DataUrl, PathsAreNone) {
  for (const char* name : {"/data/x.npy", "x.npy", "", "://x", "1a://x", "a b://x", "/a://b"}) {
    EXPECT_FALSE(IsDataUrl(name)) << name;
  }
  EXPECT_TRUE(IsDataUrl("file:///etc/passwd"));
}

TEST(DataUrl, Parts) {
  const auto http = ParseDataUrl("HTTPS://host.example:8443/a/b.csv?version=2");
  ASSERT_TRUE(http.ok()) << http.status();
  EXPECT_EQ(http->scheme, "https");
  EXPECT_EQ(http->host, "host.example:8443");
  EXPECT_EQ(http->path, "/a/b.csv?version=2");
  const auto s3 = ParseDataUrl("s3://bucket/a folder/part-*.csv?#%20");
  ASSERT_TRUE(s3.ok()) << s3.status();
  EXPECT_EQ(s3->host, "bucket");
  EXPECT_EQ(s3->path, "a folder/part-*.csv?#%20");
  EXPECT_EQ(ParseDataUrl("http://host")->path, "/");
}

TEST(DataUrl, OtherSchemesAreRefused) {
  for (const char* name : {"file:///etc/passwd", "ftp://host/x", "gopher://host/x"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseDataUrl(name).status())) << name;
  }
}

TEST(DataUrl, SecretsAreRefusedAndNotShown) {
  for (const char* name :
       {"http://me:hush@host/x.csv", "https://me:hush@host", "s3://me:hush@bucket/key",
        "http://host/x.csv?X-Amz-Signature=hush", "http://host/x?a=1&x-amz-signature=hush"}) {
    const absl::Status status = ParseDataUrl(name).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << name;
    EXPECT_EQ(status.message().find("hush"), std::string::npos) << status;
  }
}

TEST(DataUrl, MalformedOnesAreRefused) {
  for (const char* name : {"http://", "http:///x", "s3://bucket", "s3://bucket/", "s3:///key",
                           "http://ho st/x", "http://host/a b", "http://host/x#y", "http://host?x",
                           "s3://bu cket/key", "http://host/\xc3\xa9", "http://host/a\nb"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseDataUrl(name).status())) << name;
  }
  EXPECT_FALSE(ParseDataUrl("http://host/" + std::string(5000, 'a')).ok());
}

}  // namespace
}  // namespace cairn::job
