#ifndef CAIRN_WORKER_DATA_IDX_FILE_H_
#define CAIRN_WORKER_DATA_IDX_FILE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "worker/data/array.h"
#include "worker/data/files/file_bytes.h"

namespace cairn::worker {

// Reads a file in MNIST's format (http://yann.lecun.com/exdb/mnist, "the IDX file format"): two
// zero bytes, a type byte, the number of axes as a byte, the size of each axis as a big-endian
// 32-bit integer, and the elements in big endian. InvalidArgument names the file, the expected and
// the found value.
absl::StatusOr<Array> ReadIdxFile(std::shared_ptr<const FileBytes> file);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_IDX_FILE_H_
