#include "worker/data/remote/http_get.h"

#include "gtest/gtest.h"
#include "tests/worker/data/remote/http_server.h"

namespace cairn::worker {
namespace {

using testing::HttpServer;

TEST(ContentRange, NumbersAreChecked) {
  const auto range = ParseContentRange("bytes 5-9/10");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->first, 5u);
  EXPECT_EQ(range->last, 9u);
  EXPECT_EQ(range->total, 10u);
  for (const char* wrong :
       {"", "bytes", "bytes 5-9/*", "bytes */10", "bytes 5-10/10", "bytes 9-5/10", "bytes -1-5/10",
        "bytes 5-9", "5-9/10", "bytes 5/9-10", "bytes 0-1/99999999999999999999", "bytes +5-9/10"}) {
    EXPECT_FALSE(ParseContentRange(wrong)) << wrong;
  }
}

TEST(HeaderLine, StatusLineBeginsNewReply) {
  HttpReply reply;
  for (const char* line :
       {"HTTP/1.1 302 Found\r\n", "ETag: \"old\"\r\n", "HTTP/1.1 206 Partial\r\n",
        "content-length:  7 \r\n", "Content-Range: bytes 0-6/9\r\n", "LAST-MODIFIED: today\r\n",
        "no colon\r\n", "\r\n"}) {
    ReadHeaderLine(line, &reply);
  }
  EXPECT_EQ(reply.code, 206);
  EXPECT_EQ(reply.etag, "");
  EXPECT_EQ(reply.last_modified, "today");
  EXPECT_EQ(reply.length, 7u);
  EXPECT_EQ(reply.range->total, 9u);
}

TEST(S3Error, Code) {
  EXPECT_EQ(S3ErrorCode("<Error><Code>SignatureDoesNotMatch</Code></Error>"),
            "SignatureDoesNotMatch");
  EXPECT_EQ(S3ErrorCode("<Code>a\nb</Code>").find('\n'), std::string::npos);
  EXPECT_EQ(S3ErrorCode("<Code>cut off"), "");
  EXPECT_EQ(S3ErrorCode("<Code>" + std::string(500, 'x') + "</Code>"), "");
}

absl::Status StatusFor(const std::string& reply) {
  HttpServer server([&reply](const std::string&) { return reply; });
  return HttpGet({.url = server.url("/x"), .patience = absl::Seconds(2)},
                 [](const HttpReply&, std::string_view) { return absl::OkStatus(); })
      .status();
}

TEST(HttpGet, RepliesAreErrors) {
  EXPECT_TRUE(absl::IsUnavailable(StatusFor("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n")));
  EXPECT_TRUE(absl::IsUnavailable(StatusFor("HTTP/1.1 429 No\r\nContent-Length: 0\r\n\r\n")));
  EXPECT_TRUE(absl::IsNotFound(StatusFor("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n")));
  EXPECT_TRUE(absl::IsPermissionDenied(StatusFor("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")));
  EXPECT_TRUE(absl::IsUnavailable(StatusFor("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncut")));
  EXPECT_TRUE(absl::IsUnavailable(StatusFor("")));
  EXPECT_TRUE(absl::IsDataLoss(
      StatusFor("HTTP/1.1 200 OK\r\nA: " + std::string(90'000, 'a') + "\r\n\r\n")));
}

TEST(HttpGet, OnlyWebAddressesAreFollowed) {
  for (const char* target : {"file:///etc/passwd", "ftp://127.0.0.1/x"}) {
    const absl::Status status = StatusFor(std::string("HTTP/1.1 302 Found\r\nLocation: ") + target +
                                          "\r\nContent-Length: 0\r\n\r\n");
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  }
  // Back to itself.
  const absl::Status status =
      StatusFor("HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n");
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
}

}  // namespace
}  // namespace cairn::worker
