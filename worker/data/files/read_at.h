#ifndef CAIRN_WORKER_DATA_FILES_READ_AT_H_
#define CAIRN_WORKER_DATA_FILES_READ_AT_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace cairn::worker {

// Transient errors of disks and file servers are repeated for this long, with growing pauses.
inline constexpr absl::Duration kReadPatience = absl::Seconds(20);

// Reads `count` bytes at `offset` of an open data file, or fewer at its end, and returns their
// number. Transient errors (EIO, ESTALE, ETIMEDOUT and the like) are repeated for `patience`.
// `name` names the file in messages. Unavailable: the error lasted. DataLoss: another error.
// Thread-safe.
absl::StatusOr<size_t> ReadAt(int descriptor, uint64_t offset, size_t count, char* to,
                              const std::string& name, absl::Duration patience = kReadPatience);

// Opens a file with open(2)'s flags and returns the descriptor, or -errno. Repeats transient errors
// in the same way.
int OpenPatiently(const std::string& path, int flags, absl::Duration patience = kReadPatience);

// The number of successful reads by ReadAt in this process.
uint64_t FileReads();

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_FILES_READ_AT_H_
