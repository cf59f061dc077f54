#ifndef CAIRN_STORAGE_DISK_PROGRESS_H_
#define CAIRN_STORAGE_DISK_PROGRESS_H_

#include <atomic>
#include <cstdint>

namespace cairn::storage {

// Counts the blocks that this process has written to snapshots and read from them. A ps sends the
// number with its heartbeats: if it stands still while a snapshot is to be written, the disk hangs.
inline std::atomic<uint64_t> disk_progress = 0;

}  // namespace cairn::storage

#endif  // CAIRN_STORAGE_DISK_PROGRESS_H_
