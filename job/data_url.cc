#include "job/data_url.h"

#include <algorithm>
#include <string_view>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace cairn::job {
namespace {

// libcurl takes longer addresses; servers do not.
constexpr size_t kBytesMax = 4096;

absl::Status Wrong(const std::string& name, std::string_view reason) {
  return absl::InvalidArgumentError(absl::StrCat("data file ", name, ": ", std::string(reason)));
}

// The length of the scheme, or 0 if the name has none.
size_t SchemeLength(const std::string& name) {
  const size_t end = name.find("://");
  if (end == std::string::npos || end == 0 || !absl::ascii_isalpha(name[0])) return 0;
  for (size_t i = 1; i < end; ++i) {
    const char each = name[i];
    if (!absl::ascii_isalnum(each) && each != '+' && each != '-' && each != '.') return 0;
  }
  return end;
}

bool IsBucketCharacter(char each) {
  return absl::ascii_isalnum(each) || each == '-' || each == '.' || each == '_';
}

bool IsHostCharacter(char each) {
  return IsBucketCharacter(each) || each == ':' || each == '[' || each == ']';
}

absl::Status CheckHost(const std::string& name, const DataUrl& url) {
  if (url.host.empty()) return Wrong(name, url.is_s3() ? "it has no bucket" : "it has no host");
  if (absl::c_all_of(url.host, url.is_s3() ? IsBucketCharacter : IsHostCharacter)) {
    return absl::OkStatus();
  }
  return Wrong(name, url.is_s3() ? "the name of the bucket may have letters, digits, - . and _"
                                 : "the host may have letters, digits, - . _ and a port");
}

absl::Status CheckPath(const std::string& name, const DataUrl& url) {
  if (url.is_s3()) {
    return url.path.empty() ? Wrong(name, "it has no key; write s3://BUCKET/KEY")
                            : absl::OkStatus();
  }
  for (const char each : url.path) {
    if (each <= ' ' || each == '\x7f' || each == '#') {
      return Wrong(name, "blanks, # and bytes outside ASCII are written as % and two digits");
    }
  }
  if (!absl::StrContains(absl::AsciiStrToLower(url.path), "x-amz-signature="))
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("data file ", url.scheme, "://", url.host,
                   "/...: its signature would be in logs and "
                   "messages, and expires; write s3://BUCKET/KEY, and set AWS_ACCESS_KEY_ID and "
                   "AWS_SECRET_ACCESS_KEY for the workers"));
}

}  // namespace

bool IsDataUrl(const std::string& name) { return SchemeLength(name) > 0; }

absl::StatusOr<DataUrl> ParseDataUrl(const std::string& name) {
  const size_t end = SchemeLength(name);
  if (end == 0) return Wrong(name, "it is no address");
  DataUrl url;
  url.scheme = absl::AsciiStrToLower(name.substr(0, end));
  if (url.scheme != "http" && url.scheme != "https" && url.scheme != "s3") {
    return absl::InvalidArgumentError(absl::StrCat(
        "data files may be local or at http://, https:// and s3://, not at ", url.scheme, "://"));
  }
  const std::string rest = name.substr(end + 3);
  const size_t slash = rest.find('/');
  url.host = rest.substr(0, rest.find_first_of("/?#"));
  if (absl::StrContains(url.host, '@')) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a data file at ", url.scheme, "://", url.host.substr(url.host.rfind('@') + 1),
        ": a user and a password would be in logs and messages; take them from the address"));
  }
  if (name.size() > kBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("a data file at ", url.scheme, "://", url.host,
                                                   ": its address has more than ", kBytesMax,
                                                   " bytes"));
  }
  if (slash != std::string::npos) url.path = rest.substr(slash + (url.is_s3() ? 1 : 0));
  absl::Status status = CheckHost(name, url);
  if (status.ok() && !url.is_s3() && url.host.size() != std::min(slash, rest.size())) {
    status = Wrong(name, "the path begins with / after the host");
  }
  if (status.ok() && !url.is_s3() && url.path.empty()) url.path = "/";
  if (status.ok()) status = CheckPath(name, url);
  if (!status.ok()) return status;
  return url;
}

}  // namespace cairn::job
