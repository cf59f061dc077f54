#ifndef CAIRN_WORKER_DATA_FILES_FILE_LIST_H_
#define CAIRN_WORKER_DATA_FILES_FILE_LIST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace cairn::worker {

// Expands the file names of a job file, in their order. A name with one of the characters * ? [ is
// a pattern (glob(7)), unless a file has exactly this name; other names stand for themselves. The
// key of an s3 address (job/data_url.h) with such a character is always a pattern; http addresses
// are none. The matches of a pattern are sorted by the bytes of their names, whatever the locale,
// so that all machines agree. NotFound: nothing matches a pattern. InvalidArgument: a file is named
// twice, or a match is not UTF-8.
absl::StatusOr<std::vector<std::string>> ExpandFileNames(const std::vector<std::string>& names);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_FILES_FILE_LIST_H_
