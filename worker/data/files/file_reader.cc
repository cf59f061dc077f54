#include "worker/data/files/file_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace cairn::worker {
namespace {

// Memory is allocated in steps of this size, because the length of a gzip file is not known.
constexpr uint64_t kChunkBytes = uint64_t{16} << 20;

absl::Status OpenError(const std::string& path, int error) {
  return absl::ErrnoToStatus(error, absl::StrCat("cannot read data file ", path));
}

// Removes zlib's name for the file, as in "<fd:14>: incorrect data check".
absl::string_view WithoutName(absl::string_view text) {
  const size_t end = text.find(">: ");
  return end == absl::string_view::npos ? text : text.substr(end + 3);
}

absl::Status CheckRegular(int descriptor, const std::string& path) {
  struct stat status;
  if (fstat(descriptor, &status) != 0) return OpenError(path, errno);
  if (!S_ISREG(status.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot read data file ", path, ": it is ",
                     S_ISDIR(status.st_mode) ? "a folder" : "not a regular file"));
  }
  if (status.st_size == 0) {
    return absl::InvalidArgumentError(absl::StrCat("data file ", path, ": it is empty"));
  }
  return absl::OkStatus();
}

}  // namespace

struct FileReader::Handle {
  explicit Handle(gzFile opened) : file(opened) {}
  ~Handle() { gzclose_r(file); }
  const gzFile file;
};

absl::StatusOr<int> OpenDataFile(const std::string& path) {
  // O_NONBLOCK: opening a pipe must not wait for its writer. It has no effect on regular files.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return OpenError(path, errno);
  const absl::Status status = CheckRegular(descriptor, path);
  if (status.ok()) return descriptor;
  close(descriptor);
  return status;
}

FileReader::FileReader(std::string path, bool gzip, std::unique_ptr<Handle> handle)
    : path_(std::move(path)), gzip_(gzip), handle_(std::move(handle)) {}

FileReader::~FileReader() = default;

absl::StatusOr<std::unique_ptr<FileReader>> FileReader::Open(const std::string& path) {
  CAIRN_ASSIGN_OR_RETURN(const int descriptor, OpenDataFile(path));
  // pread does not move the file offset, from which zlib reads.
  std::string head(2, '\0');
  head.resize(std::max<ssize_t>(0, pread(descriptor, head.data(), head.size(), 0)));
  const bool gzip = head == "\x1f\x8b";
  const gzFile file = gzdopen(descriptor, "rb");
  if (file == nullptr) {
    close(descriptor);
    return OpenError(path, ENOMEM);
  }
  gzbuffer(file, 1 << 18);
  std::unique_ptr<FileReader> reader(new FileReader(path, gzip, std::make_unique<Handle>(file)));
  if (gzip || !absl::EndsWith(path, ".gz")) return reader;
  return reader->Malformed(absl::StrCat("its name says gzip, but it begins with bytes ",
                                        absl::BytesToHexString(head),
                                        ", not 1f8b; compress it, or take .gz from its name"));
}

absl::Status FileReader::Read(uint64_t bytes, std::string* out) {
  while (bytes > 0) {
    const uint64_t chunk = std::min(bytes, kChunkBytes);
    const size_t begin = out->size();
    out->resize(begin + chunk);
    const int count = gzread(handle_->file, out->data() + begin, static_cast<unsigned>(chunk));
    out->resize(begin + std::max(count, 0));
    int error = Z_OK;
    const char* text = gzerror(handle_->file, &error);
    // zlib reports Z_BUF_ERROR for a truncated gzip stream.
    if (count < 0 || error == Z_BUF_ERROR) {
      return absl::DataLossError(absl::StrCat(
          "data file ", path_, ": ",
          error == Z_BUF_ERROR ? "the gzip data are cut off"
                               : absl::StrCat("the gzip data are damaged: ", WithoutName(text))));
    }
    if (static_cast<uint64_t>(count) < chunk) break;
    bytes -= chunk;
  }
  return absl::OkStatus();
}

absl::Status FileReader::Malformed(std::string_view reason) const {
  return absl::InvalidArgumentError(absl::StrCat("data file ", path_, ": ", std::string(reason)));
}

}  // namespace cairn::worker
