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
#include "job/data_url.h"
#include "worker/data/files/read_at.h"
#include "worker/data/remote/remote_files.h"

namespace cairn::worker {
namespace {

// Memory is allocated in steps of this size, because the length of a gzip file is not known.
constexpr size_t kChunkBytes = size_t{16} << 20;
// Compressed bytes that are read at a time.
constexpr size_t kInputBytes = size_t{256} << 10;
constexpr char kGzipMagic[] = "\x1f\x8b";
// inflateInit2: the largest window, and a zlib or a gzip header is required.
constexpr int kZlibWindow = 15;
constexpr int kGzipWindow = 15 + 16;

absl::Status CheckRegular(int descriptor, const std::string& path, bool may_be_empty) {
  CAIRN_ASSIGN_OR_RETURN(const struct stat status, StatPatiently(descriptor, path));
  if (!S_ISREG(status.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot read data file ", path, ": it is ",
                     S_ISDIR(status.st_mode) ? "a folder" : "not a regular file"));
  }
  if (status.st_size == 0 && !may_be_empty) {
    return absl::InvalidArgumentError(absl::StrCat("data file ", path, ": it is empty"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int> OpenDataFile(const std::string& path, bool may_be_empty) {
  int descriptor = -1;
  if (job::IsDataUrl(path)) {
    const TimedRead timed;
    CAIRN_ASSIGN_OR_RETURN(descriptor, RemoteFiles::OfProcess().Open(path));
  } else {
    // O_NONBLOCK: opening a pipe must not wait for its writer. It has no effect on regular files.
    descriptor = OpenPatiently(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return CannotRead(path, -descriptor);
  }
  const absl::Status status = CheckRegular(descriptor, path, may_be_empty);
  if (status.ok()) return descriptor;
  close(descriptor);
  return status;
}

// The state of decompression. zlib's own file functions are not used: they lose data when a read
// fails and is repeated.
struct FileReader::Inflater {
  ~Inflater() { inflateEnd(&stream); }
  z_stream stream = {};
  Compression compression = Compression::kGzip;
  std::string input;
  bool between_streams = false;  // A gzip file may consist of several streams.
};

FileReader::FileReader(std::string path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor) {}

FileReader::~FileReader() { close(descriptor_); }

absl::StatusOr<std::unique_ptr<FileReader>> FileReader::Open(const std::string& path) {
  CAIRN_ASSIGN_OR_RETURN(const int descriptor, OpenDataFile(path));
  std::unique_ptr<FileReader> reader(new FileReader(path, descriptor));
  std::string head(2, '\0');
  CAIRN_ASSIGN_OR_RETURN(const size_t count, ReadAt(descriptor, 0, head.size(), head.data(), path));
  head.resize(count);
  if (head == kGzipMagic) {
    CAIRN_RETURN_IF_ERROR(reader->StartInflating(Compression::kGzip));
  } else if (absl::EndsWith(path, ".gz")) {
    return reader->Malformed(absl::StrCat("its name says gzip, but it begins with bytes ",
                                          absl::BytesToHexString(head),
                                          ", not 1f8b; compress it, or take .gz from its name"));
  }
  return reader;
}

absl::StatusOr<std::unique_ptr<FileReader>> FileReader::Open(const std::string& path,
                                                             Compression compression) {
  CAIRN_ASSIGN_OR_RETURN(const int descriptor, OpenDataFile(path, /*may_be_empty=*/true));
  std::unique_ptr<FileReader> reader(new FileReader(path, descriptor));
  if (compression != Compression::kNone) {
    CAIRN_RETURN_IF_ERROR(reader->StartInflating(compression));
  }
  return reader;
}

absl::Status FileReader::StartInflating(Compression compression) {
  inflater_ = std::make_unique<Inflater>();
  inflater_->compression = compression;
  const int window = compression == Compression::kGzip ? kGzipWindow : kZlibWindow;
  return inflateInit2(&inflater_->stream, window) == Z_OK ? absl::OkStatus()
                                                          : CannotRead(path_, ENOMEM);
}

absl::Status FileReader::Read(uint64_t bytes, std::string* out) {
  while (bytes > 0) {
    const size_t chunk = std::min<uint64_t>(bytes, kChunkBytes);
    const size_t begin = out->size();
    out->resize(begin + chunk);
    const absl::StatusOr<size_t> count =
        compressed() ? Inflate(out->data() + begin, chunk) : ReadNext(out->data() + begin, chunk);
    out->resize(begin + (count.ok() ? *count : 0));
    CAIRN_RETURN_IF_ERROR(count.status());
    if (*count < chunk) break;
    bytes -= chunk;
  }
  return absl::OkStatus();
}

absl::StatusOr<size_t> FileReader::ReadNext(char* to, size_t count) {
  CAIRN_ASSIGN_OR_RETURN(const size_t got, ReadAt(descriptor_, offset_, count, to, path_));
  offset_ += got;
  return got;
}

absl::StatusOr<size_t> FileReader::Inflate(char* to, size_t count) {
  z_stream& stream = inflater_->stream;
  const bool gzip = inflater_->compression == Compression::kGzip;
  const char* const name = gzip ? "gzip" : "zlib";
  std::string& input = inflater_->input;
  stream.next_out = reinterpret_cast<Bytef*>(to);
  stream.avail_out = static_cast<uInt>(count);
  while (stream.avail_out > 0) {
    if (stream.avail_in == 0) {
      input.resize(kInputBytes);
      CAIRN_ASSIGN_OR_RETURN(const size_t got, ReadNext(input.data(), input.size()));
      stream.next_in = reinterpret_cast<Bytef*>(input.data());
      stream.avail_in = static_cast<uInt>(got);
      if (got == 0 && inflater_->between_streams) break;
      if (got == 0) {
        return absl::DataLossError(
            absl::StrCat("data file ", path_, ": the ", name, " data are cut off"));
      }
    }
    if (inflater_->between_streams) {
      // Other bytes after a stream are padding, as for gzip(1).
      if (!gzip || *stream.next_in != static_cast<Bytef>(kGzipMagic[0])) {
        stream.avail_in = 0;
        break;
      }
      inflateReset(&stream);
      inflater_->between_streams = false;
    }
    const int result = inflate(&stream, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
      inflater_->between_streams = true;
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      return absl::DataLossError(absl::StrCat(
          "data file ", path_, ": the ", name,
          " data are damaged: ", stream.msg != nullptr ? stream.msg : "not enough memory"));
    }
  }
  return count - stream.avail_out;
}

absl::Status FileReader::Malformed(std::string_view reason) const {
  return absl::InvalidArgumentError(absl::StrCat("data file ", path_, ": ", std::string(reason)));
}

}  // namespace cairn::worker
