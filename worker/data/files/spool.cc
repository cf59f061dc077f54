#include "worker/data/files/spool.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/failpoint.h"
#include "common/mutex.h"
#include "common/status_macros.h"
#include "worker/data/files/read_at.h"

namespace cairn::worker {

int OpenUnnamed(const std::string& folder) {
  const int descriptor = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return descriptor;
  std::string name = folder + "/cairn-data-XXXXXX";
  const int named = mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) unlink(name.c_str());
  return named;
}

namespace {

// Unavailable: the worker tries the job again later. A full disk may have room then: the folder is
// shared with other programs, and often with other workers.
absl::Status SpoolError(int error, const std::string& what) {
  const std::string text = absl::StrCat(what, ": ", strerror(error));
  if (error == ENOSPC || error == EDQUOT) {
    return absl::UnavailableError(absl::StrCat(
        text,
        "; make room there, give the worker another folder with --spool, or more memory "
        "with --data_memory"));
  }
  return IsTransient(error) ? absl::UnavailableError(text) : absl::ResourceExhaustedError(text);
}

absl::StatusOr<int> OpenSpool(const std::string& name, const DataStorage& storage) {
  const int descriptor = OpenUnnamed(storage.spool_folder());
  if (descriptor >= 0) return descriptor;
  return SpoolError(errno,
                    absl::StrCat("data file ", name, ": cannot make a file in the spool folder ",
                                 storage.spool_folder()));
}

absl::Status WriteAll(int descriptor, uint64_t place, std::string_view bytes,
                      const std::string& name, const DataStorage& storage) {
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("spool.write"));
  while (!bytes.empty()) {
    const ssize_t count = pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(place));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      return SpoolError(errno,
                        absl::StrCat("data file ", name, ": cannot write to the spool folder ",
                                     storage.spool_folder()));
    }
    bytes.remove_prefix(count);
    place += count;
  }
  return absl::OkStatus();
}

// Writes at `place`, and counts the bytes if it succeeds.
absl::Status WriteAt(int descriptor, uint64_t place, std::string_view bytes,
                     const std::string& name, DataStorage* storage) {
  CAIRN_RETURN_IF_ERROR(storage->TakeSpool(bytes.size(), name));
  absl::Status status = WriteAll(descriptor, place, bytes, name, *storage);
  if (!status.ok()) storage->ReturnSpool(bytes.size());
  return status;
}

}  // namespace

SharedSpool::~SharedSpool() { close(descriptor_); }

void SharedSpool::FreeChunk(uint64_t place) const {
  // A file system that cannot do it frees the room with the file.
  fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(place),
            kChunkBytes);
}

struct Spool::Chunks {
  explicit Chunks(std::shared_ptr<SharedSpool> file) : file(std::move(file)) {}
  ~Chunks() {
    for (const uint64_t place : places) file->FreeChunk(place);
  }
  Chunks(const Chunks&) = delete;
  Chunks& operator=(const Chunks&) = delete;

  // The part of `count` bytes at `offset` that is in one chunk.
  static uint64_t PartOf(uint64_t offset, uint64_t count) {
    return std::min(count, SharedSpool::kChunkBytes - offset % SharedSpool::kChunkBytes);
  }
  uint64_t PlaceOf(uint64_t offset) const {
    return places[offset / SharedSpool::kChunkBytes] + offset % SharedSpool::kChunkBytes;
  }

  absl::StatusOr<const char*> Read(const std::string& name, uint64_t offset, size_t count,
                                   std::string* scratch) const {
    scratch->resize(count);
    for (size_t done = 0; done < count;) {
      const uint64_t part = PartOf(offset + done, count - done);
      CAIRN_ASSIGN_OR_RETURN(const size_t got, ReadAt(file->descriptor(), PlaceOf(offset + done),
                                                      part, scratch->data() + done, name));
      if (got < part) {
        return absl::DataLossError(
            absl::StrCat("data file ", name, ": its spool file became shorter"));
      }
      done += part;
    }
    return scratch->data();
  }

  const std::shared_ptr<SharedSpool> file;
  std::vector<uint64_t> places;
};

namespace {

// The storage's file, which the first of its spools creates.
absl::StatusOr<std::shared_ptr<SharedSpool>> OpenShared(const std::string& name,
                                                        DataStorage* storage) {
  DataStorage::SpoolSlot& slot = storage->spool_slot();
  MutexLock lock(&slot.mutex);
  if (std::shared_ptr<SharedSpool> file = slot.file.lock()) return file;
  CAIRN_ASSIGN_OR_RETURN(const int descriptor, OpenSpool(name, *storage));
  auto file = std::make_shared<SharedSpool>(descriptor);
  slot.file = file;
  return file;
}

}  // namespace

Spool::Spool(std::string name, DataStorage* storage) : name_(std::move(name)), storage_(storage) {}

Spool::~Spool() {
  if (is_finished_) return;
  storage_->ReturnMemory(memory_.size());
  storage_->ReturnSpool(written_);
}

absl::Status Spool::Append(std::string_view bytes) {
  if (chunks_ == nullptr && storage_->TakeMemory(bytes.size())) {
    memory_.append(bytes);
    return absl::OkStatus();
  }
  if (chunks_ == nullptr) CAIRN_RETURN_IF_ERROR(MoveToDisk());
  return Write(bytes);
}

absl::Status Spool::MoveToDisk() {
  // All of the contents move, not only the rest: a reader expects them in one place. The memory is
  // then free for other files.
  CAIRN_ASSIGN_OR_RETURN(std::shared_ptr<SharedSpool> file, OpenShared(name_, storage_));
  chunks_ = std::make_shared<Chunks>(std::move(file));
  CAIRN_RETURN_IF_ERROR(Write(memory_));
  storage_->ReturnMemory(memory_.size());
  std::string().swap(memory_);
  return absl::OkStatus();
}

absl::Status Spool::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    if (written_ == chunks_->places.size() * SharedSpool::kChunkBytes) {
      chunks_->places.push_back(chunks_->file->NewChunk());
    }
    const std::string_view part = bytes.substr(0, Chunks::PartOf(written_, bytes.size()));
    CAIRN_RETURN_IF_ERROR(
        WriteAt(chunks_->file->descriptor(), chunks_->PlaceOf(written_), part, name_, storage_));
    written_ += part.size();
    bytes.remove_prefix(part.size());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const FileBytes>> Spool::Finish() {
  is_finished_ = true;
  if (chunks_ == nullptr) return FileBytes::InMemory(name_, std::move(memory_));
  return FileBytes::Computed(
      name_, written_,
      [name = name_, chunks = chunks_](uint64_t offset, size_t count, std::string* scratch) {
        return chunks->Read(name, offset, count, scratch);
      });
}

absl::StatusOr<std::unique_ptr<SpoolFile>> SpoolFile::Create(std::string name,
                                                             DataStorage* storage) {
  CAIRN_ASSIGN_OR_RETURN(const int descriptor, OpenSpool(name, *storage));
  return std::unique_ptr<SpoolFile>(new SpoolFile(std::move(name), storage, descriptor));
}

SpoolFile::~SpoolFile() { close(descriptor_); }

absl::StatusOr<uint64_t> SpoolFile::Add(std::string_view piece) {
  // Pieces that are written at the same time have places of their own.
  const uint64_t place = end_.fetch_add(piece.size());
  CAIRN_RETURN_IF_ERROR(WriteAt(descriptor_, place, piece, name_, storage_));
  return place;
}

absl::Status SpoolFile::Read(uint64_t place, size_t count, std::string* out) const {
  out->resize(count);
  CAIRN_ASSIGN_OR_RETURN(const size_t read, ReadAt(descriptor_, place, count, out->data(), name_));
  if (read == count) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("data file ", name_, ": its spool file became shorter"));
}

}  // namespace cairn::worker
