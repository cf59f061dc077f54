#ifndef CAIRN_WORKER_DATA_REMOTE_HTTP_GET_H_
#define CAIRN_WORKER_DATA_REMOTE_HTTP_GET_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace cairn::worker {

// A GET request, which ends by itself: a server that cannot be reached, or that sends too slowly,
// is given up after `patience`. Redirects are followed, a few, and from https only to https.
struct HttpRequest {
  std::string url;
  std::string range;                 // "0-1023". Empty: the whole object.
  std::vector<std::string> headers;  // "Name: value".
  std::string ca_file;               // Empty: the certificates of the system.
  absl::Duration patience = absl::Seconds(20);

  // Of a signed request to S3. No redirect is followed: its signature is for this host only.
  bool is_signed = false;
  std::string region;
  std::string access_key;
  std::string secret_key;
};

// The header Content-Range of a reply: "bytes FIRST-LAST/TOTAL".
struct ContentRange {
  uint64_t first = 0;
  uint64_t last = 0;
  uint64_t total = 0;
};

// nullopt: it is malformed, its numbers contradict each other, or the total is not known.
std::optional<ContentRange> ParseContentRange(std::string_view value);

// What a server says about an object before it sends it.
struct HttpReply {
  int code = 0;
  std::string etag;           // With its quotes. Empty: none.
  std::string last_modified;  // Empty: none.
  std::optional<uint64_t> length;
  std::optional<ContentRange> range;
  std::string error;  // The name of S3's error, such as SignatureDoesNotMatch.
};

// Takes over what a line of a reply's header says. A status line begins a new reply, because a
// redirect has one of its own.
void ReadHeaderLine(std::string_view line, HttpReply* reply);

// The text of S3's error <Code> in the body of a reply. Empty: it has none.
std::string S3ErrorCode(std::string_view body);

// Sends the request and passes the body of a 200 or 206 reply on in pieces. An error of `on_body`
// ends the transfer. Unavailable: a later attempt may succeed. Messages do not have the address,
// whose query may be private. Thread-safe.
using OnBody = std::function<absl::Status(const HttpReply& reply, std::string_view piece)>;
absl::StatusOr<HttpReply> HttpGet(const HttpRequest& request, const OnBody& on_body);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_REMOTE_HTTP_GET_H_
