#include "worker/data/remote/remote_files.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/worker/data/remote/http_server.h"
#include "worker/data/files/read_at.h"

namespace cairn::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::HttpServer;

// An object on a server, with the ways in which the server may fail.
struct Object {
  std::string bytes;
  std::string etag = "\"1\"";
  bool ignores_ranges = false;
  bool has_length = true;
  int failures = 0;     // So many replies are 503.
  int cut_off = 0;      // So many replies end early.
  uint64_t shift = 0;   // Added to the first byte of Content-Range.
  std::string surplus;  // Sent after the bytes, and counted in Content-Length.

  std::string Answer(const std::string& header) {
    if (failures > 0) {
      --failures;
      return "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";
    }
    const size_t match = header.find("If-Match: ");
    if (match != std::string::npos && header.compare(match + 10, etag.size(), etag) != 0) {
      return "HTTP/1.1 412 Changed\r\nContent-Length: 0\r\n\r\n";
    }
    uint64_t first = 0;
    uint64_t last = bytes.size() - 1;
    const size_t range = header.find("Range: bytes=");
    if (range != std::string::npos && !ignores_ranges) {
      char* end = nullptr;
      first = std::strtoull(header.c_str() + range + 13, &end, 10);
      last = std::min<uint64_t>(last, std::strtoull(end + 1, nullptr, 10));
      if (first >= bytes.size()) return "HTTP/1.1 416 Range\r\nContent-Length: 0\r\n\r\n";
    }
    std::string body = bytes.substr(first, last - first + 1) + surplus;
    std::string reply =
        absl::StrCat("HTTP/1.1 ", ignores_ranges ? "200 OK" : "206 Part", "\r\nETag: ", etag);
    if (has_length) absl::StrAppend(&reply, "\r\nContent-Length: ", body.size());
    if (!ignores_ranges) {
      absl::StrAppend(&reply, "\r\nContent-Range: bytes ", first + shift, "-", last, "/",
                      bytes.size());
    }
    if (cut_off > 0) {
      --cut_off;
      body.resize(body.size() / 2);
    }
    return absl::StrCat(reply, "\r\n\r\n", body);
  }
};

std::string SomeBytes(size_t count) {
  std::string bytes;
  for (size_t i = 0; i < count; ++i) bytes.push_back(static_cast<char>(i * i / 7 + i));
  return bytes;
}

RemoteOptions Options() {
  RemoteOptions options;
  options.folder = ::testing::TempDir();
  options.block_bytes = 1000;
  options.patience = absl::Seconds(2);
  return options;
}

absl::StatusOr<std::string> ReadFile(RemoteFiles* files, const std::string& name) {
  const absl::StatusOr<int> descriptor = files->Open(name);
  if (!descriptor.ok()) return descriptor.status();
  std::string bytes(100'000, '\0');
  const ssize_t count = pread(*descriptor, bytes.data(), bytes.size(), 0);
  close(*descriptor);
  bytes.resize(std::max<ssize_t>(count, 0));
  return bytes;
}

class RemoteFilesTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::string> Read() { return ReadFile(&files_, server_.url("/x")); }

  Object object_{SomeBytes(4321)};
  HttpServer server_{[this](const std::string& header) { return object_.Answer(header); }};
  RemoteFiles files_{Options()};
};

TEST_F(RemoteFilesTest, BlocksAreFetchedOnce) {
  EXPECT_EQ(Read().value(), object_.bytes);
  EXPECT_EQ(server_.requests(), 5);
  EXPECT_EQ(Read().value(), object_.bytes);
  EXPECT_EQ(files_.Size(server_.url("/x")).value(), 4321u);
  EXPECT_EQ(server_.requests(), 5);
}

TEST_F(RemoteFilesTest, TransientErrorsAreRepeated) {
  object_.failures = 2;
  object_.cut_off = 3;
  EXPECT_EQ(Read().value(), object_.bytes);
}

TEST_F(RemoteFilesTest, LastingErrorIsUnavailable) {
  object_.failures = 1'000'000;
  const absl::Status status = Read().status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(server_.url("/x")));
  object_.failures = 0;
  EXPECT_EQ(Read().value(), object_.bytes);
}

// It takes the connection, answers nothing or a part, and does not close it.
class HangingServer : public ::testing::TestWithParam<std::string> {};

TEST_P(HangingServer, IsGivenUp) {
  absl::Notification is_over;
  HttpServer server([](const std::string&) { return GetParam(); },
                    [&is_over] { is_over.WaitForNotification(); });
  RemoteOptions options = Options();
  options.patience = absl::Seconds(1);
  RemoteFiles files(options);
  const absl::Status opened = ReadFile(&files, server.url("/x")).status();
  EXPECT_TRUE(absl::IsUnavailable(opened)) << opened;
  EXPECT_THAT(std::string(opened.message()), HasSubstr(server.url("/x")));
  const absl::Status sized = files.Size(server.url("/x")).status();
  EXPECT_TRUE(absl::IsUnavailable(sized)) << sized;
  is_over.Notify();
}

INSTANTIATE_TEST_SUITE_P(Answers, HangingServer,
                         ::testing::Values("", "HTTP/1.1 206 Partial Content\r\n",
                                           "HTTP/1.1 206 Partial Content\r\nContent-Length: 9\r\n"
                                           "Content-Range: bytes 0-8/9\r\n\r\nhalf"));

TEST_F(RemoteFilesTest, APieceThatArrivesIsProgress) {
  const uint64_t before = FileReads();
  EXPECT_TRUE(Read().ok());
  EXPECT_GE(FileReads() - before, 5u);
}

TEST_F(RemoteFilesTest, ServerMayIgnoreRanges) {
  object_.ignores_ranges = true;
  object_.cut_off = 1;
  EXPECT_EQ(Read().value(), object_.bytes);
  files_.Renew(server_.url("/x"));
  object_.has_length = false;
  object_.etag = "\"2\"";
  object_.bytes = SomeBytes(999);
  EXPECT_EQ(Read().value(), object_.bytes);
}

TEST_F(RemoteFilesTest, LiesAreRefused) {
  object_.shift = 1;
  EXPECT_TRUE(absl::IsDataLoss(Read().status()));
  object_.shift = 0;
  object_.surplus = "more";
  EXPECT_TRUE(absl::IsDataLoss(Read().status()));
}

TEST_F(RemoteFilesTest, NewJobSeesNewVersion) {
  EXPECT_EQ(Read().value(), object_.bytes);
  const std::string old = object_.bytes;
  object_.bytes = SomeBytes(2000);
  object_.etag = "\"2\"";
  EXPECT_EQ(Read().value(), old);
  files_.Renew(server_.url("/x"));
  EXPECT_EQ(Read().value(), object_.bytes);
}

TEST(RemoteFiles, ChangeWhileFetchedIsAnError) {
  Object object{SomeBytes(4321)};
  int requests = 0;
  HttpServer server([&](const std::string& header) {
    if (++requests == 3) object.etag = "\"2\"";
    return object.Answer(header);
  });
  RemoteFiles files(Options());
  const absl::Status status = files.Open(server.url("/x")).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("changed"));
}

TEST(RemoteFiles, RoomIsBounded) {
  Object object{SomeBytes(600'000)};
  HttpServer server([&](const std::string& header) { return object.Answer(header); });
  RemoteOptions options = Options();
  options.block_bytes = 1'000'000;
  options.bytes_max = uint64_t{1} << 20;
  RemoteFiles files(options);
  const absl::StatusOr<int> first = files.Open(server.url("/1"));
  ASSERT_TRUE(first.ok()) << first.status();
  // The copy that is open stays.
  EXPECT_TRUE(absl::IsResourceExhausted(files.Open(server.url("/2")).status()));
  close(*first);
  const absl::StatusOr<int> second = files.Open(server.url("/2"));
  ASSERT_TRUE(second.ok()) << second.status();
  close(*second);
  // What was deleted must be the same when it is fetched again.
  object.etag = "\"2\"";
  EXPECT_TRUE(absl::IsDataLoss(files.Open(server.url("/1")).status()));
}

TEST(RemoteFiles, EndlessObjectIsBounded) {
  Object object{SomeBytes(3'000'000)};
  object.ignores_ranges = true;
  object.has_length = false;
  HttpServer server([&](const std::string& header) { return object.Answer(header); });
  RemoteOptions options = Options();
  options.bytes_max = uint64_t{1} << 20;
  RemoteFiles files(options);
  EXPECT_TRUE(absl::IsResourceExhausted(files.Open(server.url("/x")).status()));
}

TEST(RemoteFiles, PatternsOfKeys) {
  std::string asked;
  HttpServer server([&](const std::string& header) -> std::string {
    const bool is_second = header.find("continuation-token=t%2F1&") != std::string::npos;
    asked += header.substr(0, header.find('\r'));
    const std::string body = absl::StrCat(
        "<ListBucketResult><IsTruncated>", is_second ? "false" : "true", "</IsTruncated>",
        is_second ? "" : "<NextContinuationToken>t/1</NextContinuationToken>",
        "<Contents><Key>a/part-", is_second ? "0" : "1",
        ".csv</Key></Contents><Contents><Key>a/b/part-2.csv</Key></Contents>"
        "</ListBucketResult>");
    return absl::StrCat("HTTP/1.1 200 OK\r\nContent-Length: ", body.size(), "\r\n\r\n", body);
  });
  RemoteOptions options = Options();
  options.endpoint = server.url("");
  RemoteFiles files(options);
  EXPECT_THAT(files.Match("s3://bucket/a/part-*.csv").value(),
              ElementsAre("s3://bucket/a/part-0.csv", "s3://bucket/a/part-1.csv"));
  EXPECT_THAT(asked, HasSubstr("GET /bucket/?encoding-type=url&list-type=2&prefix=a%2Fpart-"));
}

}  // namespace
}  // namespace cairn::worker
