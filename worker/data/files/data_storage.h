#ifndef CAIRN_WORKER_DATA_FILES_DATA_STORAGE_H_
#define CAIRN_WORKER_DATA_FILES_DATA_STORAGE_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace cairn::worker {

// Where one job's data may lie, and how much of them. Thread-safe.
class DataStorage {
 public:
  struct Options {
    // What is kept in memory. Beyond it plain files are read when they are needed, and what had to
    // be unpacked or parsed lies in the spool folder.
    uint64_t memory_bytes = uint64_t{1} << 30;
    uint64_t spool_bytes = uint64_t{256} << 30;
    // For files that have no name and vanish with the process.
    std::string spool_folder = "/var/tmp";
  };

  explicit DataStorage(Options options);

  // Whether so many bytes more may be kept in memory; they are then counted.
  bool TakeMemory(uint64_t bytes);
  void ReturnMemory(uint64_t bytes) { memory_ -= bytes; }

  // Counts bytes of a spool file. ResourceExhausted: too many; `name` is the data file's.
  absl::Status TakeSpool(uint64_t bytes, const std::string& name);

  const std::string& spool_folder() const { return options_.spool_folder; }

 private:
  const Options options_;
  std::atomic<uint64_t> memory_ = 0;
  std::atomic<uint64_t> spooled_ = 0;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_FILES_DATA_STORAGE_H_
