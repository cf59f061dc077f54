#include "worker/data/files/file_bytes.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "worker/data/files/read_at.h"

namespace cairn::worker {

FileBytes::FileBytes(std::string name, std::string bytes, int descriptor)
    : name_(std::move(name)),
      bytes_(std::move(bytes)),
      descriptor_(descriptor),
      size_(bytes_.size()) {}

FileBytes::~FileBytes() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::shared_ptr<const FileBytes> FileBytes::InMemory(std::string name, std::string bytes) {
  return std::shared_ptr<const FileBytes>(new FileBytes(std::move(name), std::move(bytes), -1));
}

absl::StatusOr<std::shared_ptr<const FileBytes>> FileBytes::OnDisk(std::string name,
                                                                   int descriptor) {
  std::shared_ptr<FileBytes> file(new FileBytes(std::move(name), "", descriptor));
  CAIRN_ASSIGN_OR_RETURN(const struct stat status, StatPatiently(descriptor, file->name_));
  file->size_ = status.st_size;
  file->can_change_ = true;
  file->changed_seconds_ = status.st_mtim.tv_sec;
  file->changed_nanoseconds_ = status.st_mtim.tv_nsec;
  return file;
}

std::shared_ptr<const FileBytes> FileBytes::Deferred(std::string name, uint64_t size, Open open) {
  std::shared_ptr<FileBytes> file(new FileBytes(std::move(name), "", -1));
  file->size_ = size;
  file->open_ = std::move(open);
  return file;
}

std::shared_ptr<const FileBytes> FileBytes::Computed(std::string name, uint64_t size,
                                                     ReadFunction read) {
  std::shared_ptr<FileBytes> file(new FileBytes(std::move(name), "", -1));
  file->size_ = size;
  file->read_ = std::move(read);
  return file;
}

absl::StatusOr<const FileBytes*> FileBytes::Opened() const {
  if (const FileBytes* const ready = ready_) return ready;
  // Held while the file is opened, so that it is opened once.
  MutexLock lock(&mutex_);
  if (opened_ == nullptr) {
    CAIRN_ASSIGN_OR_RETURN(std::shared_ptr<const FileBytes> opened, open_());
    if (opened->size() != size_) {
      return Malformed(absl::StrCat(opened->size(), " bytes of numbers, expected ", size_));
    }
    opened_ = std::move(opened);
    ready_ = opened_.get();
  }
  return opened_.get();
}

absl::Status FileBytes::Prepare() const {
  return open_ == nullptr ? absl::OkStatus() : Opened().status();
}

absl::StatusOr<const char*> FileBytes::Read(uint64_t offset, size_t count,
                                            std::string* scratch) const {
  if (read_ != nullptr) return read_(offset, count, scratch);
  if (open_ != nullptr) {
    CAIRN_ASSIGN_OR_RETURN(const FileBytes* const opened, Opened());
    return opened->Read(offset, count, scratch);
  }
  if (in_memory()) return bytes_.data() + offset;
  scratch->resize(count);
  CAIRN_ASSIGN_OR_RETURN(const size_t got,
                         ReadAt(descriptor_, offset, count, scratch->data(), name_));
  if (got < count) {
    return absl::DataLossError(absl::StrCat("data file ", name_, ": cannot read byte ",
                                            offset + got, ": it became shorter"));
  }
  return scratch->data();
}

absl::Status FileBytes::CheckUnchanged() const {
  if (!can_change_) return absl::OkStatus();
  CAIRN_ASSIGN_OR_RETURN(const struct stat status, StatPatiently(descriptor_, name_));
  const bool same = static_cast<uint64_t>(status.st_size) == size_ &&
                    status.st_mtim.tv_sec == changed_seconds_ &&
                    status.st_mtim.tv_nsec == changed_nanoseconds_;
  if (same) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("data file ", name_,
                                          ": it was changed while the job runs; data must stay as "
                                          "they were when the job began"));
}

absl::Status FileBytes::Malformed(std::string_view reason) const {
  return absl::InvalidArgumentError(absl::StrCat("data file ", name_, ": ", std::string(reason)));
}

}  // namespace cairn::worker
