#include "worker/data/files/load_file.h"

#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "job/data_url.h"
#include "worker/data/files/file_reader.h"
#include "worker/data/files/read_at.h"
#include "worker/data/files/spool.h"
#include "worker/data/remote/remote_files.h"

namespace cairn::worker {
namespace {

constexpr uint64_t kSamples = 64;
constexpr uint64_t kSampleBytes = uint64_t{16} << 10;
constexpr uint64_t kUnpackBytes = uint64_t{1} << 20;

absl::StatusOr<std::shared_ptr<const FileBytes>> OpenPlain(const std::string& path,
                                                           bool may_be_empty = false) {
  CAIRN_ASSIGN_OR_RETURN(const int descriptor, OpenDataFile(path, may_be_empty));
  return FileBytes::OnDisk(path, descriptor);
}

absl::StatusOr<std::shared_ptr<const FileBytes>> Unpack(FileReader* reader, DataStorage* storage) {
  Spool spool(reader->path(), storage);
  std::string chunk;
  do {
    chunk.clear();
    CAIRN_RETURN_IF_ERROR(reader->Read(kUnpackBytes, &chunk));
    CAIRN_RETURN_IF_ERROR(spool.Append(chunk));
  } while (chunk.size() == kUnpackBytes);
  return spool.Finish();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const FileBytes>> LoadFile(const std::string& path,
                                                          DataStorage* storage) {
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<FileReader> reader, FileReader::Open(path));
  if (reader->compressed()) return Unpack(reader.get(), storage);
  CAIRN_ASSIGN_OR_RETURN(std::shared_ptr<const FileBytes> plain, OpenPlain(path));
  // Without room the file is read in place: it needs no spool, because it is not compressed.
  if (!storage->TakeMemory(plain->size())) return plain;
  std::string bytes;
  CAIRN_RETURN_IF_ERROR(plain->Read(0, plain->size(), &bytes).status());
  return FileBytes::InMemory(path, std::move(bytes));
}

absl::StatusOr<std::shared_ptr<const FileBytes>> ReadWholeFile(const std::string& path,
                                                               uint64_t bytes_max) {
  CAIRN_ASSIGN_OR_RETURN(const std::shared_ptr<const FileBytes> file, OpenPlain(path));
  if (file->size() > bytes_max) {
    return file->Malformed(
        absl::StrCat("it has ", file->size(), " bytes, at most ", bytes_max, " are read"));
  }
  std::string bytes;
  CAIRN_RETURN_IF_ERROR(file->Read(0, file->size(), &bytes).status());
  return FileBytes::InMemory(path, std::move(bytes));
}

absl::StatusOr<uint64_t> FileSize(const std::string& path) {
  if (job::IsDataUrl(path)) return RemoteFiles::OfProcess().Size(path);
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return CannotRead(path, errno);
  if (S_ISREG(status.st_mode)) return status.st_size;
  return absl::FailedPreconditionError(
      absl::StrCat("cannot read data file ", path, ": it is not a regular file"));
}

absl::StatusOr<uint64_t> FileFingerprint(const std::string& path) {
  CAIRN_ASSIGN_OR_RETURN(const std::shared_ptr<const FileBytes> file,
                         OpenPlain(path, /*may_be_empty=*/true));
  return ContentsFingerprint(*file);
}

absl::StatusOr<uint64_t> ContentsFingerprint(const FileBytes& file) {
  const uint64_t size = file.size();
  uint64_t hash = XXH3_64bits(&size, sizeof size);
  std::string scratch;
  const bool whole = size <= kSamples * kSampleBytes;
  const uint64_t count = whole ? 1 : kSamples;
  const uint64_t bytes = whole ? size : kSampleBytes;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t last = size - bytes;
    // last * i / (count - 1), computed without overflow.
    const uint64_t offset =
        count == 1 ? 0 : last / (count - 1) * i + last % (count - 1) * i / (count - 1);
    CAIRN_ASSIGN_OR_RETURN(const char* sample, file.Read(offset, bytes, &scratch));
    hash = XXH3_64bits_withSeed(sample, bytes, hash);
  }
  return hash;
}

absl::Status CheckFingerprint(const std::string& path, uint64_t found, uint64_t planned) {
  if (found == planned) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("data file ", path,
                   ": it is not the one that was inspected when the job was planned; all workers "
                   "need the same files, and these must not change"));
}

}  // namespace cairn::worker
