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

// Takes what a data file becomes when it is unpacked or parsed: in memory while the storage allows
// it, else in an unnamed file of the spool folder. Not thread-safe.
class Spool {
 public:
  // `name` is the data file's. `storage` must outlive it.
  Spool(std::string name, DataStorage* storage);
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  // ResourceExhausted: the storage's limit, or a full disk; it names the folder.
  absl::Status Append(std::string_view bytes);

  // Once, at the end.
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
