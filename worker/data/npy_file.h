#ifndef CAIRN_WORKER_DATA_NPY_FILE_H_
#define CAIRN_WORKER_DATA_NPY_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "worker/data/array.h"

namespace cairn::worker {

// Reads a NumPy .npy file (see common/npy.h for what is accepted) of at least one axis. Errors name
// the file, what was expected and what was found.
absl::StatusOr<Array> ReadNpyFile(const std::string& path);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_NPY_FILE_H_
