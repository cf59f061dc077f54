#ifndef CAIRN_WORKER_DATA_FILES_SPOOL_H_
#define CAIRN_WORKER_DATA_FILES_SPOOL_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/data/files/data_storage.h"
#include "worker/data/files/file_bytes.h"

namespace cairn::worker {

// Collects the decompressed or parsed contents of a data file. They are kept in memory while the
// storage has room, and moved to an unnamed file in the spool folder after that.
//
//   Append as often as needed, then Finish once
//
// Not thread-safe.
class Spool {
 public:
  // `name` is the name of the data file. `storage` must outlive the spool.
  Spool(std::string name, DataStorage* storage);
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  // ResourceExhausted: the storage's limit is reached, or the disk is full; names the folder.
  absl::Status Append(std::string_view bytes);

  // Returns the contents. The spool must not be used afterwards.
  absl::StatusOr<std::shared_ptr<const FileBytes>> Finish();

 private:
  absl::Status MoveToDisk();
  absl::Status Write(std::string_view bytes);

  const std::string name_;
  DataStorage* const storage_;
  std::string memory_;
  int descriptor_ = -1;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_FILES_SPOOL_H_
