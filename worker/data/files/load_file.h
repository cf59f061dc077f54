#ifndef CAIRN_WORKER_DATA_FILES_LOAD_FILE_H_
#define CAIRN_WORKER_DATA_FILES_LOAD_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/data/files/data_storage.h"
#include "worker/data/files/file_bytes.h"

namespace cairn::worker {

// Loads a data file, and decompresses it if it is gzip. The contents are in memory if `storage` has
// room. Otherwise a plain file is read in place, and the contents of a gzip file are in a spool
// file. Errors as FileReader's and Spool's.
absl::StatusOr<std::shared_ptr<const FileBytes>> LoadFile(const std::string& path,
                                                          DataStorage* storage);

// Reads a whole file of at most `bytes_max` bytes into memory, without decompressing it. Errors as
// OpenDataFile's; InvalidArgument also if it is larger.
absl::StatusOr<std::shared_ptr<const FileBytes>> ReadWholeFile(const std::string& path,
                                                               uint64_t bytes_max);

// The size of a regular file, which is not opened. Errors as OpenDataFile.
absl::StatusOr<uint64_t> FileSize(const std::string& path);

// A fingerprint of the file's contents: a hash of its size and of 64 evenly spaced samples of
// 16 KiB, including the first and the last; of the whole file if it has at most 1 MiB. Reads little
// of a large file, so changes between the samples are not found. An empty file has one, too: its
// reader decides whether it may be empty. Errors as OpenDataFile's and
// FileBytes::Read's.
absl::StatusOr<uint64_t> FileFingerprint(const std::string& path);
// The same, of a file that is open.
absl::StatusOr<uint64_t> ContentsFingerprint(const FileBytes& file);
// FailedPrecondition: a file's fingerprint is not the one that the plan of its job has.
absl::Status CheckFingerprint(const std::string& path, uint64_t found, uint64_t planned);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_FILES_LOAD_FILE_H_
