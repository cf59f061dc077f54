#ifndef CAIRN_WORKER_DATA_FILES_LOAD_FILE_H_
#define CAIRN_WORKER_DATA_FILES_LOAD_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "worker/data/files/data_storage.h"
#include "worker/data/files/file_bytes.h"

namespace cairn::worker {

// A data file's contents, unpacked if it is gzip: in memory if `storage` has room, else a plain
// file as it stands on disk, and a gzip one in a spool file. Errors as FileReader's and Spool's.
absl::StatusOr<std::shared_ptr<const FileBytes>> LoadFile(const std::string& path,
                                                          DataStorage* storage);

// A number that differs, most probably, if the file's contents do: a hash of its size and of 64
// samples of 16 KiB, spread evenly, first and last included; of all of it up to 1 MiB.
absl::StatusOr<uint64_t> FileFingerprint(const std::string& path);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_FILES_LOAD_FILE_H_
