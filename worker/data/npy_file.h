#ifndef CAIRN_WORKER_DATA_NPY_FILE_H_
#define CAIRN_WORKER_DATA_NPY_FILE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "worker/data/array.h"
#include "worker/data/files/file_bytes.h"

namespace cairn::worker {

// Reads a NumPy .npy file with at least one axis; common/npy.h lists the accepted types.
// InvalidArgument names the file, the expected and the found value.
absl::StatusOr<Array> ReadNpyFile(std::shared_ptr<const FileBytes> file);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_NPY_FILE_H_
