#ifndef CAIRN_NN_FORMATS_ZIP_ARCHIVE_H_
#define CAIRN_NN_FORMATS_ZIP_ARCHIVE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace cairn::nn {

// Zip archives in memory. Files are read from and written to `.keras` models.

struct ZipMember {
  std::string name;
  std::string contents;
};

// The contents of a member. NotFound: there is no such member. InvalidArgument: the archive or the
// member is damaged, or the member is a bomb: it is more than 100 times as large as its compressed
// form (beyond 16 MiB).
absl::StatusOr<std::string> ReadZipMember(std::string_view archive, const std::string& name);

// An archive of these members, uncompressed, as Keras writes it. The same members make the same
// bytes.
absl::StatusOr<std::string> WriteZip(const std::vector<ZipMember>& members);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_ZIP_ARCHIVE_H_
