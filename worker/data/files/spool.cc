#include "worker/data/files/spool.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/failpoint.h"
#include "common/status_macros.h"
#include "worker/data/files/read_at.h"

namespace cairn::worker {
namespace {

// Opens an unnamed file, which the system deletes even if the process is killed; -1 on failure. On
// file systems without O_TMPFILE, creates a named file and unlinks it.
int OpenUnnamed(const std::string& folder) {
  const int descriptor = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return descriptor;
  std::string name = folder + "/cairn-data-XXXXXX";
  const int named = mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) unlink(name.c_str());
  return named;
}

// Unavailable: the worker tries the job again later.
absl::Status SpoolError(int error, const std::string& what) {
  const std::string text = absl::StrCat(what, ": ", strerror(error));
  return IsTransient(error) ? absl::UnavailableError(text) : absl::ResourceExhaustedError(text);
}

}  // namespace

Spool::Spool(std::string name, DataStorage* storage) : name_(std::move(name)), storage_(storage) {}

Spool::~Spool() {
  if (descriptor_ >= 0) close(descriptor_);
}

absl::Status Spool::Append(std::string_view bytes) {
  if (descriptor_ < 0 && storage_->TakeMemory(bytes.size())) {
    memory_.append(bytes);
    return absl::OkStatus();
  }
  if (descriptor_ < 0) CAIRN_RETURN_IF_ERROR(MoveToDisk());
  return Write(bytes);
}

absl::Status Spool::MoveToDisk() {
  // All of the contents move, not only the rest: a reader expects them in one place. The memory is
  // then free for other files.
  descriptor_ = OpenUnnamed(storage_->spool_folder());
  if (descriptor_ < 0) {
    return SpoolError(errno,
                      absl::StrCat("data file ", name_, ": cannot make a file in the spool folder ",
                                   storage_->spool_folder()));
  }
  CAIRN_RETURN_IF_ERROR(Write(memory_));
  storage_->ReturnMemory(memory_.size());
  std::string().swap(memory_);
  return absl::OkStatus();
}

absl::Status Spool::Write(std::string_view bytes) {
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("spool.write"));
  CAIRN_RETURN_IF_ERROR(storage_->TakeSpool(bytes.size(), name_));
  while (!bytes.empty()) {
    const ssize_t count = write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      return SpoolError(errno,
                        absl::StrCat("data file ", name_, ": cannot write to the spool folder ",
                                     storage_->spool_folder()));
    }
    bytes.remove_prefix(count);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const FileBytes>> Spool::Finish() {
  if (descriptor_ < 0) return FileBytes::InMemory(name_, std::move(memory_));
  return FileBytes::OnDisk(name_, std::exchange(descriptor_, -1));
}

}  // namespace cairn::worker
