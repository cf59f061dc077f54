#ifndef CAIRN_WORKER_DATA_FILES_DATA_STORAGE_H_
#define CAIRN_WORKER_DATA_FILES_DATA_STORAGE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/mutex.h"

namespace cairn::worker {

class SharedSpool;

// The budget for one job's data: bytes in memory and bytes in the spool folder. Thread-safe.
class DataStorage {
 public:
  struct Options {
    // Data kept in memory. Beyond this limit, plain files are read in place as needed, and data
    // that had to be decompressed or parsed are written to the spool folder.
    uint64_t memory_bytes = uint64_t{1} << 30;
    uint64_t spool_bytes = uint64_t{256} << 30;
    // Holds unnamed files, which the system deletes when the process ends.
    std::string spool_folder = "/var/tmp";
  };

  explicit DataStorage(Options options);

  // Reserves memory. Returns false, and reserves nothing, if the limit would be exceeded.
  bool TakeMemory(uint64_t bytes);
  // As TakeMemory, for data that can be made again: leaves an eighth of the limit to others.
  bool TakeSpareMemory(uint64_t bytes);
  void ReturnMemory(uint64_t bytes) { memory_ -= bytes; }

  // Reserves bytes of a spool file. ResourceExhausted, naming the data file `name`: the limit would
  // be exceeded, and nothing is reserved.
  absl::Status TakeSpool(uint64_t bytes, const std::string& name);
  void ReturnSpool(uint64_t bytes) { spooled_ -= bytes; }

  const std::string& spool_folder() const { return options_.spool_folder; }

  // The file that all of a job's Spools write to, while there is one.
  struct SpoolSlot {
    Mutex mutex;
    std::weak_ptr<SharedSpool> file ABSL_GUARDED_BY(mutex);
  };
  SpoolSlot& spool_slot() { return spool_slot_; }

 private:
  const Options options_;
  std::atomic<uint64_t> memory_ = 0;
  std::atomic<uint64_t> spooled_ = 0;
  SpoolSlot spool_slot_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_FILES_DATA_STORAGE_H_
