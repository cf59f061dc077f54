#ifndef CAIRN_WORKER_DATA_NPZ_FILE_H_
#define CAIRN_WORKER_DATA_NPZ_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/data/array.h"
#include "worker/data/data_reader.h"
#include "worker/data/files/data_storage.h"

namespace cairn::worker {

// Reads arrays from a NumPy .npz file: a zip archive of .npy files, stored or deflated. Other
// members of the archive are not read. The contents are in memory if `storage` has room, otherwise
// in spool files. Verifies the checksums of the archive.
//
// InvalidArgument: not a zip archive, no such array, or as ReadNpyFile. DataLoss: a damaged member.
// ResourceExhausted: as Spool. Messages name the file and the array.
absl::StatusOr<std::vector<Array>> ReadNpzArrays(const std::string& path,
                                                 const std::vector<std::string>& names,
                                                 DataStorage* storage);

// Reads an npz source. The rows of its files follow each other.
absl::StatusOr<SourceArrays> ReadNpz(const ReadRequest& request);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_NPZ_FILE_H_
