#ifndef CAIRN_WORKER_DATA_IDX_FILE_H_
#define CAIRN_WORKER_DATA_IDX_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "worker/data/array.h"

namespace cairn::worker {

// Reads a file of MNIST's format, plain or gzip (http://yann.lecun.com/exdb/mnist, "the IDX file
// format"): two zero bytes, a type, a number of axes, the axes as big-endian 32-bit numbers, the
// elements in big endian. Errors name the file, what was expected and what was found.
absl::StatusOr<Array> ReadIdxFile(const std::string& path);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_IDX_FILE_H_
