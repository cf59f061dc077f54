#ifndef CAIRN_WORKER_DATA_IDX_FILE_H_
#define CAIRN_WORKER_DATA_IDX_FILE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "worker/data/array.h"
#include "worker/data/files/file_bytes.h"

namespace cairn::worker {

// The array of a file in MNIST's format (http://yann.lecun.com/exdb/mnist, "the IDX file format"):
// two zero bytes, a type, a number of axes, the axes as big-endian 32-bit numbers, the elements in
// big endian. InvalidArgument names the file, what was expected and what was found.
absl::StatusOr<Array> ReadIdxFile(std::shared_ptr<const FileBytes> file);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_IDX_FILE_H_
