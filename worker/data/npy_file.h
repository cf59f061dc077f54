#ifndef CAIRN_WORKER_DATA_NPY_FILE_H_
#define CAIRN_WORKER_DATA_NPY_FILE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "worker/data/array.h"
#include "worker/data/files/data_storage.h"
#include "worker/data/files/file_bytes.h"

namespace cairn::worker {

// Reads a NumPy .npy file with at least one axis; common/npy.h lists the accepted types. A file in
// Fortran order is copied to C order, in memory if `storage` has room, otherwise in a spool file.
// InvalidArgument names the file, the expected and the found value. ResourceExhausted: as Spool.
absl::StatusOr<Array> ReadNpyFile(std::shared_ptr<const FileBytes> file, DataStorage* storage);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_NPY_FILE_H_
