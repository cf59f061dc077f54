#ifndef CAIRN_WORKER_DATA_FILES_FILE_LIST_H_
#define CAIRN_WORKER_DATA_FILES_FILE_LIST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace cairn::worker {

// The files that names from a job file mean, one name's after the other's. A name means itself, or
// if it has one of the signs * ? [ and no file is called just so, all that match it (glob(7)), in
// the order of their names' bytes whatever the machine's language. NotFound: none does.
// InvalidArgument: a file is meant twice.
absl::StatusOr<std::vector<std::string>> ExpandFileNames(const std::vector<std::string>& names);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_FILES_FILE_LIST_H_
