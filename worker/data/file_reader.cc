#include "worker/data/file_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"

namespace cairn::worker {
namespace {

// What is allocated before it is known that the file goes on.
constexpr uint64_t kChunkBytes = uint64_t{16} << 20;

absl::Status OpenError(const std::string& path, int error) {
  return absl::ErrnoToStatus(error, absl::StrCat("cannot read data file ", path));
}

absl::Status CheckRegular(int descriptor, const std::string& path) {
  struct stat status;
  if (fstat(descriptor, &status) != 0) return OpenError(path, errno);
  if (!S_ISREG(status.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot read data file ", path, ": it is not a regular file"));
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

FileReader::FileReader(std::string path, std::unique_ptr<Handle> handle)
    : path_(std::move(path)), handle_(std::move(handle)) {}

FileReader::~FileReader() = default;

absl::StatusOr<std::unique_ptr<FileReader>> FileReader::Open(const std::string& path) {
  // O_NONBLOCK: opening a pipe must not wait for its writer; regular files do not care.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return OpenError(path, errno);
  absl::Status status = CheckRegular(descriptor, path);
  gzFile file = status.ok() ? gzdopen(descriptor, "rb") : nullptr;
  if (file == nullptr) {
    close(descriptor);
    return status.ok() ? OpenError(path, ENOMEM) : status;
  }
  gzbuffer(file, 1 << 18);
  return std::unique_ptr<FileReader>(new FileReader(path, std::make_unique<Handle>(file)));
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
    // zlib says Z_BUF_ERROR for a gzip stream that ends before its end.
    if (count < 0 || error == Z_BUF_ERROR) {
      return absl::DataLossError(absl::StrCat(
          "data file ", path_, ": ",
          error == Z_BUF_ERROR ? "the gzip data are cut off" : absl::StrCat("damaged: ", text)));
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
