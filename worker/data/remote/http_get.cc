#include "worker/data/remote/http_get.h"

#include <curl/curl.h>

#include <algorithm>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/printable.h"

namespace cairn::worker {
namespace {

constexpr size_t kHeaderBytesMax = size_t{64} << 10;
constexpr size_t kErrorBytesMax = size_t{16} << 10;
// Longer validators are not sent back.
constexpr size_t kValidatorBytesMax = 1024;
constexpr long kRedirectsMax = 5;
// A transfer is slow below this rate.
constexpr long kSlowBytesPerSecond = 1024;

std::string_view Trimmed(std::string_view text) {
  const absl::string_view trimmed =
      absl::StripAsciiWhitespace(absl::string_view(text.data(), text.size()));
  return {trimmed.data(), trimmed.size()};
}

bool ParseNumber(std::string_view text, uint64_t* number) {
  // No sign and no blanks, which SimpleAtoi takes.
  const bool has_digits = !text.empty() && text.size() <= 19 &&
                          std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
  return has_digits && absl::SimpleAtoi(absl::string_view(text.data(), text.size()), number);
}

struct CloseHandle {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Handle = std::unique_ptr<CURL, CloseHandle>;
using List = std::unique_ptr<curl_slist, FreeList>;

// What one transfer has received.
struct Transfer {
  const OnBody* on_body = nullptr;
  HttpReply reply;
  size_t header_bytes = 0;
  std::string error_body;
  absl::Status status;
};

// libcurl ends a transfer whose callback returns another number of bytes than it was given.
size_t OnHeader(char* bytes, size_t, size_t count, void* opaque) {
  auto* transfer = static_cast<Transfer*>(opaque);
  transfer->header_bytes += count;
  if (transfer->header_bytes > kHeaderBytesMax) {
    transfer->status = absl::DataLossError("the header of the server's reply does not end");
    return 0;
  }
  ReadHeaderLine({bytes, count}, &transfer->reply);
  return count;
}

size_t OnData(char* bytes, size_t, size_t count, void* opaque) {
  auto* transfer = static_cast<Transfer*>(opaque);
  const int code = transfer->reply.code;
  if (code != 200 && code != 206) {
    std::string& body = transfer->error_body;
    body.append(bytes, std::min(count, kErrorBytesMax - std::min(body.size(), kErrorBytesMax)));
    return body.size() < kErrorBytesMax ? count : 0;
  }
  transfer->status = (*transfer->on_body)(transfer->reply, {bytes, count});
  return transfer->status.ok() ? count : 0;
}

bool IsPermanent(CURLcode code) {
  switch (code) {
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_TOO_MANY_REDIRECTS:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_NOT_BUILT_IN:
    case CURLE_BAD_FUNCTION_ARGUMENT:
      return true;
    default:
      return false;
  }
}

absl::Status TransferError(CURLcode code) {
  const char* const reason = curl_easy_strerror(code);
  switch (code) {
    case CURLE_UNSUPPORTED_PROTOCOL:
      return absl::FailedPreconditionError(
          "the server redirects to an address that is not followed: only http and https are, and "
          "from https only https");
    case CURLE_SSL_CACERT_BADFILE:
      return absl::FailedPreconditionError(
          absl::StrCat(reason, "; CURL_CA_BUNDLE of the worker names a file with certificates"));
    case CURLE_PEER_FAILED_VERIFICATION:
      return absl::FailedPreconditionError(absl::StrCat(
          reason, "; for a certificate of your own, set CURL_CA_BUNDLE of the worker to its file"));
    default:
      return IsPermanent(code) ? absl::FailedPreconditionError(reason)
                               : absl::UnavailableError(reason);
  }
}

void SetOptions(const HttpRequest& request, CURL* curl) {
  const long seconds = std::max<long>(1, static_cast<long>(absl::ToInt64Seconds(request.patience)));
  const bool is_secure = absl::StartsWithIgnoreCase(request.url, "https:");
  // Signals of a resolver would interrupt other threads.
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, is_secure ? "https" : "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, request.is_signed ? 0L : 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, kRedirectsMax);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, seconds);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, seconds);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, kSlowBytesPerSecond);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "cairn");
  // The variables that libcurl reads itself are those of proxies.
  curl_easy_setopt(curl, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  if (!request.range.empty()) curl_easy_setopt(curl, CURLOPT_RANGE, request.range.c_str());
  if (!request.ca_file.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, request.ca_file.c_str());
  if (!request.is_signed) return;
  const std::string scheme = absl::StrCat("aws:amz:", request.region, ":s3");
  curl_easy_setopt(curl, CURLOPT_AWS_SIGV4, scheme.c_str());
  curl_easy_setopt(curl, CURLOPT_USERNAME, request.access_key.c_str());
  curl_easy_setopt(curl, CURLOPT_PASSWORD, request.secret_key.c_str());
}

bool IsTransientCode(int code) { return code == 408 || code == 429 || (code >= 500 && code < 600); }

absl::Status ReplyError(const HttpReply& reply) {
  const std::string what =
      absl::StrCat("the server answered ", reply.code,
                   reply.error.empty() ? "" : absl::StrCat(" (", reply.error, ")"));
  if (IsTransientCode(reply.code)) return absl::UnavailableError(what);
  switch (reply.code) {
    case 401:
    case 403:
      return absl::PermissionDeniedError(
          absl::StrCat(what,
                       "; of S3, check the worker's AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, "
                       "AWS_SESSION_TOKEN and AWS_REGION"));
    case 404:
    case 410:
      return absl::NotFoundError(what);
    case 301:
    case 307:
      return absl::FailedPreconditionError(
          absl::StrCat(what, ": of S3, the bucket is in another region; set AWS_REGION"));
    default:
      return absl::FailedPreconditionError(what);
  }
}

}  // namespace

std::optional<ContentRange> ParseContentRange(std::string_view value) {
  constexpr std::string_view kUnit = "bytes ";
  if (value.substr(0, kUnit.size()) != kUnit) return std::nullopt;
  value.remove_prefix(kUnit.size());
  const size_t dash = value.find('-');
  const size_t slash = value.find('/');
  if (dash == std::string_view::npos || slash == std::string_view::npos || slash < dash) {
    return std::nullopt;
  }
  ContentRange range;
  const bool is_whole = ParseNumber(value.substr(0, dash), &range.first) &&
                        ParseNumber(value.substr(dash + 1, slash - dash - 1), &range.last) &&
                        ParseNumber(value.substr(slash + 1), &range.total);
  if (!is_whole || range.first > range.last || range.last >= range.total) return std::nullopt;
  return range;
}

void ReadHeaderLine(std::string_view line, HttpReply* reply) {
  if (line.substr(0, 5) == "HTTP/") {
    *reply = HttpReply();
    uint64_t code = 0;
    const size_t blank = line.find(' ');
    if (blank != std::string_view::npos && ParseNumber(line.substr(blank + 1, 3), &code)) {
      reply->code = static_cast<int>(code);
    }
    return;
  }
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const std::string name = absl::AsciiStrToLower(absl::string_view(line.data(), colon));
  const std::string_view value = Trimmed(line.substr(colon + 1));
  uint64_t length = 0;
  if (name == "etag" && value.size() <= kValidatorBytesMax) reply->etag = std::string(value);
  if (name == "last-modified" && value.size() <= kValidatorBytesMax) {
    reply->last_modified = std::string(value);
  }
  if (name == "content-length" && ParseNumber(value, &length)) reply->length = length;
  if (name == "content-range") reply->range = ParseContentRange(value);
}

std::string S3ErrorCode(std::string_view body) {
  constexpr std::string_view kBegin = "<Code>";
  constexpr size_t kNameMax = 100;
  const size_t begin = body.find(kBegin);
  if (begin == std::string_view::npos) return "";
  body.remove_prefix(begin + kBegin.size());
  const size_t end = body.find("</Code>");
  if (end == std::string_view::npos || end > kNameMax) return "";
  return PrintableLine(std::string(body.substr(0, end)));
}

absl::StatusOr<HttpReply> HttpGet(const HttpRequest& request, const OnBody& on_body) {
  // Initialized once, before the first of possibly several threads goes on.
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  const Handle curl(started == CURLE_OK ? curl_easy_init() : nullptr);
  if (curl == nullptr) return absl::ResourceExhaustedError("libcurl cannot start");
  SetOptions(request, curl.get());
  List headers;
  for (const std::string& header : request.headers) {
    // The old list is part of the new one.
    headers.reset(curl_slist_append(headers.release(), header.c_str()));
  }
  if (headers != nullptr) curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, headers.get());
  Transfer transfer;
  transfer.on_body = &on_body;
  curl_easy_setopt(curl.get(), CURLOPT_HEADERFUNCTION, OnHeader);
  curl_easy_setopt(curl.get(), CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, OnData);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &transfer);
  const CURLcode code = curl_easy_perform(curl.get());
  HttpReply& reply = transfer.reply;
  if (!transfer.status.ok()) return transfer.status;
  const bool is_error_body = code == CURLE_WRITE_ERROR && !transfer.error_body.empty();
  if (code != CURLE_OK && !is_error_body) return TransferError(code);
  if (reply.code == 200 || reply.code == 206 || reply.code == 412 || reply.code == 416) {
    return reply;
  }
  reply.error = S3ErrorCode(transfer.error_body);
  return ReplyError(reply);
}

}  // namespace cairn::worker
