#ifndef CAIRN_JOB_DATA_URL_H_
#define CAIRN_JOB_DATA_URL_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace cairn::job {

// The address of a data file that is not on a local disk:
//
//   http://HOST/PATH, https://HOST/PATH, s3://BUCKET/KEY
//
// Of s3, the key stands for itself: no character is encoded with %.
struct DataUrl {
  std::string scheme;  // "http", "https" or "s3".
  std::string host;    // With the port, if there is one. Of s3: the bucket.
  std::string path;    // Begins with a slash, and has the query. Of s3: the key, without a slash.

  bool is_s3() const { return scheme == "s3"; }
};

// Whether the name of a data file is an address: it begins with a scheme and "://".
bool IsDataUrl(const std::string& name);

// InvalidArgument: the scheme is none of the three, the address has a user, a password or the
// signature of a presigned request, which messages would show, or it is malformed. The message does
// not name a user or a password.
absl::StatusOr<DataUrl> ParseDataUrl(const std::string& name);

}  // namespace cairn::job

#endif  // CAIRN_JOB_DATA_URL_H_
