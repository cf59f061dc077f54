#ifndef CAIRN_WORKER_DATA_NPY_FILE_H_
#define CAIRN_WORKER_DATA_NPY_FILE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "worker/data/array.h"
#include "worker/data/files/file_bytes.h"

namespace cairn::worker {

// The array of a NumPy .npy file (see common/npy.h for what is accepted) of at least one axis.
// InvalidArgument names the file, what was expected and what was found.
absl::StatusOr<Array> ReadNpyFile(std::shared_ptr<const FileBytes> file);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_NPY_FILE_H_
