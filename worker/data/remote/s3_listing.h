#ifndef CAIRN_WORKER_DATA_REMOTE_S3_LISTING_H_
#define CAIRN_WORKER_DATA_REMOTE_S3_LISTING_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace cairn::worker {

// Encodes a text for an address: all bytes but letters, digits, - . _ ~ and, of paths, slashes.
std::string PercentEncode(std::string_view text, bool keeps_slashes);

// A page of S3's ListObjectsV2 with encoding-type=url.
struct S3Page {
  std::vector<std::string> keys;  // Decoded.
  std::string next;               // The continuation token. Empty: this is the last page.
};

// DataLoss: it is no such page, or it is incomplete.
absl::StatusOr<S3Page> ParseS3Page(std::string_view xml);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_REMOTE_S3_LISTING_H_
