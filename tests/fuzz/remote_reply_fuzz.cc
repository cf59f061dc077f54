// What a server of data files sends: the lines of a reply's header, and S3's lists of objects.

#include <string>
#include <string_view>

#include "common/check.h"
#include "tests/fuzz/fuzz_target.h"
#include "worker/data/remote/http_get.h"
#include "worker/data/remote/s3_listing.h"

namespace cairn::fuzz {

bool RunInput(std::string_view input) {
  worker::HttpReply reply;
  for (std::string_view rest = input; !rest.empty();) {
    const size_t end = rest.find('\n');
    worker::ReadHeaderLine(rest.substr(0, end), &reply);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  if (reply.range) {
    CAIRN_CHECK(reply.range->first <= reply.range->last);
    CAIRN_CHECK(reply.range->last < reply.range->total);
  }
  const std::string error = worker::S3ErrorCode(input);
  CAIRN_CHECK(error.find('\n') == std::string::npos);
  const auto page = worker::ParseS3Page(input);
  if (!page.ok()) return reply.range.has_value();
  size_t bytes = page->next.size();
  for (const std::string& key : page->keys) bytes += key.size();
  CAIRN_CHECK(bytes <= input.size());
  return true;
}

}  // namespace cairn::fuzz
