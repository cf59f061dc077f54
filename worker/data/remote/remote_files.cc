#include "worker/data/remote/remote_files.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "common/check.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "job/data_url.h"
#include "worker/data/files/read_at.h"
#include "worker/data/files/spool.h"
#include "worker/data/remote/http_get.h"
#include "worker/data/remote/s3_listing.h"

namespace cairn::worker {
namespace {

constexpr absl::Duration kFirstPause = absl::Milliseconds(100);
constexpr absl::Duration kLongestPause = absl::Seconds(5);
// Room is reserved in steps if the server does not say how long an object is.
constexpr uint64_t kStepBytes = uint64_t{1} << 20;
constexpr size_t kPageBytesMax = size_t{16} << 20;
// Of a request without a body.
constexpr char kEmptyBodySha256[] =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr size_t kKeysMax = 10'000'000;

absl::Status Named(const std::string& name, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat("data file ", name, ": ", std::string(status.message())));
}

absl::Status Changed() {
  return absl::DataLossError(
      "it was changed while the job runs; data must stay as they were when the job began");
}

// The pauses between attempts. They begin anew when something has arrived.
class Pauses {
 public:
  explicit Pauses(absl::Duration patience) : patience_(patience) { Restart(); }

  void Restart() {
    end_ = absl::Now() + patience_;
    pause_ = kFirstPause;
    count_ = 1;
  }
  // Sleeps before the next attempt. Returns the error if there is none.
  absl::Status After(const absl::Status& status, const std::string& name) {
    if (!absl::IsUnavailable(status)) return status;
    if (absl::Now() + pause_ > end_) {
      return absl::UnavailableError(absl::StrCat(std::string(status.message()), " (tried ", count_,
                                                 " times in ", absl::FormatDuration(patience_),
                                                 ")"));
    }
    if (count_ == 1) {
      CAIRN_LOG_WARNING("a request failed; trying again", "file", name, "error",
                        std::string(status.message()));
    }
    absl::SleepFor(pause_);
    pause_ = std::min(2 * pause_, kLongestPause);
    ++count_;
    return absl::OkStatus();
  }

 private:
  const absl::Duration patience_;
  absl::Time end_;
  absl::Duration pause_;
  int count_ = 1;
};

// An unnamed file for a copy, which is closed unless it is released.
class Copy {
 public:
  ~Copy() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  absl::Status Create(const std::string& folder) {
    descriptor_ = OpenUnnamed(folder);
    if (descriptor_ >= 0) return absl::OkStatus();
    return absl::UnavailableError(
        absl::StrCat("cannot make a file in the spool folder ", folder, ": ", strerror(errno)));
  }
  absl::Status Write(uint64_t offset, std::string_view bytes, const std::string& folder) {
    while (!bytes.empty()) {
      const ssize_t count =
          pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) {
        // A full disk may have room later: the folder is shared with other programs.
        return absl::UnavailableError(
            absl::StrCat("cannot write to the spool folder ", folder, ": ", strerror(errno),
                         "; make room there, or give the worker another folder with --spool"));
      }
      bytes.remove_prefix(count);
      offset += count;
    }
    return absl::OkStatus();
  }
  int Release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_ = -1;
};

bool IsInUse(int descriptor) {
  // Readers hold a shared lock, which the system releases with their last descriptor.
  const bool is_free = flock(descriptor, LOCK_EX | LOCK_NB) == 0;
  if (is_free) flock(descriptor, LOCK_UN);
  return !is_free;
}

absl::StatusOr<int> OpenReader(int copy) {
  // Opened anew, so that it has a lock and rights of its own.
  const int descriptor = open(absl::StrCat("/proc/self/fd/", copy).c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor >= 0 && flock(descriptor, LOCK_SH | LOCK_NB) == 0) return descriptor;
  const int error = errno;
  if (descriptor >= 0) close(descriptor);
  return absl::UnavailableError(absl::StrCat("cannot open its copy: ", strerror(error)));
}

std::unique_ptr<RemoteFiles>& Process() {
  static auto* const files = new std::unique_ptr<RemoteFiles>;
  return *files;
}

// The version that a reply names, with the length of the whole object.
RemoteVersion VersionOf(const HttpReply& reply, uint64_t size) {
  return {size, reply.etag, reply.last_modified};
}

}  // namespace

// Where requests for a file go.
struct RemoteFiles::Address {
  HttpRequest request;
  bool is_s3 = false;
};

// Fetches one object into a copy.
class RemoteFiles::Fetch {
 public:
  // `expected`: the version that the object must have, or null.
  Fetch(RemoteFiles* files, std::string name, Address address, const RemoteVersion* expected)
      : files_(files),
        name_(std::move(name)),
        address_(std::move(address)),
        expected_(expected),
        pauses_(files->options_.patience) {}

  ~Fetch() { files_->Return(reserved_); }

  absl::Status Run() {
    CAIRN_RETURN_IF_ERROR(copy_.Create(files_->options_.folder));
    while (!is_whole_) {
      const uint64_t before = offset_;
      const absl::Status status = Request();
      if (offset_ > before) pauses_.Restart();
      if (!status.ok()) CAIRN_RETURN_IF_ERROR(pauses_.After(status, name_));
    }
    return absl::OkStatus();
  }

  // The copy, and the room for it, now belong to the caller.
  int Release() {
    reserved_ = 0;
    return copy_.Release();
  }
  const RemoteVersion& version() const { return version_; }

 private:
  absl::Status Request() {
    HttpRequest request = address_.request;
    const uint64_t last = offset_ + files_->options_.block_bytes - 1;
    request.range = absl::StrCat(offset_, "-", last);
    // A weak validator says nothing about bytes.
    const bool is_strong = has_version_ && absl::StartsWith(version_.etag, "\"");
    if (is_strong) request.headers.push_back(absl::StrCat("If-Match: ", version_.etag));
    is_first_piece_ = true;
    end_ = last + 1;
    const absl::StatusOr<HttpReply> reply = HttpGet(
        request,
        [this](const HttpReply& head, std::string_view piece) { return Take(head, piece); });
    if (!reply.ok()) return reply.status();
    if (reply->code == 412) return Changed();
    if (reply->code == 416) return TakeEmpty(*reply);
    // An object without bytes has no piece.
    if (is_first_piece_) CAIRN_RETURN_IF_ERROR(Begin(*reply));
    if (!has_size_) return TakeEnd(*reply);
    if (offset_ < end_) return absl::UnavailableError("the server's reply was cut off");
    is_whole_ = offset_ == version_.size;
    return absl::OkStatus();
  }

  // The first piece of a reply: the header says what it is.
  absl::Status Begin(const HttpReply& reply) {
    is_first_piece_ = false;
    if (reply.code == 206) {
      if (!reply.range || reply.range->first != offset_ || reply.range->last >= end_) {
        return absl::DataLossError(
            absl::StrCat("the server's Content-Range is not what was asked for, bytes ", offset_,
                         "-", end_ - 1));
      }
      has_size_ = true;
      end_ = reply.range->last + 1;
      return SetVersion(VersionOf(reply, reply.range->total));
    }
    // The server ignores ranges and sends the object from its beginning.
    offset_ = 0;
    has_size_ = reply.length.has_value();
    end_ = reply.length.value_or(0);
    return has_size_ ? SetVersion(VersionOf(reply, end_)) : absl::OkStatus();
  }

  absl::Status SetVersion(const RemoteVersion& version) {
    if (has_version_ && !(version == version_)) return Changed();
    if (expected_ != nullptr && !(version == *expected_)) return Changed();
    version_ = version;
    has_version_ = true;
    return ReserveUpTo(version.size);
  }

  absl::Status ReserveUpTo(uint64_t bytes) {
    if (bytes <= reserved_) return absl::OkStatus();
    CAIRN_RETURN_IF_ERROR(files_->Reserve(name_, bytes - reserved_));
    reserved_ = bytes;
    return absl::OkStatus();
  }

  absl::Status Take(const HttpReply& reply, std::string_view piece) {
    if (is_first_piece_) CAIRN_RETURN_IF_ERROR(Begin(reply));
    if (has_size_ && piece.size() > end_ - offset_) {
      return absl::DataLossError("the server sends more bytes than it was asked for");
    }
    if (!has_size_) {
      const uint64_t steps = (offset_ + piece.size() + kStepBytes - 1) / kStepBytes;
      CAIRN_RETURN_IF_ERROR(ReserveUpTo(steps * kStepBytes));
    }
    CAIRN_RETURN_IF_ERROR(copy_.Write(offset_, piece, files_->options_.folder));
    offset_ += piece.size();
    // A long transfer is not taken for a hang.
    CountRead();
    return absl::OkStatus();
  }

  // The end of an object whose length the server has not said.
  absl::Status TakeEnd(const HttpReply& reply) {
    CAIRN_RETURN_IF_ERROR(SetVersion(VersionOf(reply, offset_)));
    files_->Return(reserved_ - offset_);
    reserved_ = offset_;
    is_whole_ = true;
    return absl::OkStatus();
  }

  // No range of an empty object can be satisfied.
  absl::Status TakeEmpty(const HttpReply& reply) {
    if (offset_ > 0) return Changed();
    CAIRN_RETURN_IF_ERROR(SetVersion(VersionOf(reply, 0)));
    is_whole_ = true;
    return absl::OkStatus();
  }

  RemoteFiles* const files_;
  const std::string name_;
  const Address address_;
  const RemoteVersion* const expected_;
  Pauses pauses_;
  Copy copy_;
  uint64_t offset_ = 0;  // The bytes before it are in the copy.
  uint64_t reserved_ = 0;
  bool has_version_ = false;
  RemoteVersion version_;
  bool is_whole_ = false;
  // Of the current reply.
  bool is_first_piece_ = true;
  bool has_size_ = false;
  uint64_t end_ = 0;
};

RemoteFiles::RemoteFiles(RemoteOptions options) : options_(std::move(options)) {}

RemoteFiles::~RemoteFiles() {
  for (const auto& [name, file] : files_) {
    if (file.descriptor >= 0) close(file.descriptor);
  }
}

void RemoteFiles::Configure(RemoteOptions options) {
  Process() = std::make_unique<RemoteFiles>(std::move(options));
}

RemoteFiles& RemoteFiles::OfProcess() {
  static const bool is_made = [] {
    if (Process() == nullptr) Configure({});
    return true;
  }();
  CAIRN_CHECK(is_made);
  return *Process();
}

absl::StatusOr<RemoteFiles::Address> RemoteFiles::AddressOf(const std::string& name) const {
  CAIRN_ASSIGN_OR_RETURN(const job::DataUrl url, job::ParseDataUrl(name));
  Address address;
  HttpRequest& request = address.request;
  request.ca_file = options_.ca_file;
  request.patience = options_.patience;
  address.is_s3 = url.is_s3();
  if (!url.is_s3()) {
    request.url = name;
    return address;
  }
  std::string base(absl::StripSuffix(options_.endpoint, "/"));
  if (base.empty() && !absl::StrContains(url.host, '.')) {
    base = absl::StrCat("https://", url.host, ".s3.", options_.region, ".amazonaws.com");
  } else {
    // The certificate of Amazon's names does not hold for buckets with dots.
    if (base.empty()) base = absl::StrCat("https://s3.", options_.region, ".amazonaws.com");
    base = absl::StrCat(base, "/", url.host);
  }
  request.url = absl::StrCat(base, "/", PercentEncode(url.path, /*keeps_slashes=*/true));
  request.is_signed = !options_.access_key.empty();
  request.region = options_.region;
  request.access_key = options_.access_key;
  request.secret_key = options_.secret_key;
  // S3 requires the header, which libcurl 7.88 does not add by itself.
  if (request.is_signed) {
    request.headers.push_back(absl::StrCat("x-amz-content-sha256: ", kEmptyBodySha256));
  }
  if (request.is_signed && !options_.session_token.empty()) {
    request.headers.push_back(absl::StrCat("x-amz-security-token: ", options_.session_token));
  }
  return address;
}

RemoteFiles::File* RemoteFiles::Take(const std::string& name) {
  MutexLock lock(&mutex_);
  File& file = files_[name];
  // Ends: a thread that asks a server gives it up after `patience`.
  while (file.is_busy) changed_.Wait(&mutex_);
  file.is_busy = true;
  file.last_use = ++uses_;
  return &file;
}

void RemoteFiles::GiveBack(File* file) {
  MutexLock lock(&mutex_);
  file->is_busy = false;
  changed_.NotifyAll();
}

absl::StatusOr<RemoteVersion> RemoteFiles::AskVersion(const std::string& name) const {
  CAIRN_ASSIGN_OR_RETURN(Address address, AddressOf(name));
  address.request.range = "0-0";
  Pauses pauses(options_.patience);
  while (true) {
    // The first piece ends the reply of a server that ignores ranges: its header is enough.
    HttpReply head;
    bool has_begun = false;
    const absl::StatusOr<HttpReply> reply =
        HttpGet(address.request, [&](const HttpReply& first, std::string_view) {
          head = first;
          has_begun = true;
          return first.code == 206 ? absl::OkStatus() : absl::CancelledError();
        });
    if (!has_begun && !reply.ok()) {
      CAIRN_RETURN_IF_ERROR(pauses.After(reply.status(), name));
      continue;
    }
    if (!has_begun) head = *reply;
    if (head.code == 416) return VersionOf(head, 0);
    if (head.code == 206 && head.range) return VersionOf(head, head.range->total);
    if (head.code == 200 && head.length) return VersionOf(head, *head.length);
    return absl::UnimplementedError("the server does not say how long the object is");
  }
}

// Asks whether a copy, or the version that is known, is still that of the server.
absl::Status RemoteFiles::CheckVersion(const std::string& name, File* file) {
  if (file->is_current) return absl::OkStatus();
  const absl::StatusOr<RemoteVersion> version = AskVersion(name);
  const bool has_none = absl::IsUnimplemented(version.status());
  if (!version.ok() && !has_none) return version.status();
  if (has_none || !file->has_version || !(*version == file->version)) {
    MutexLock lock(&mutex_);
    if (file->descriptor >= 0) {
      close(std::exchange(file->descriptor, -1));
      bytes_ -= file->version.size;
    }
  }
  file->has_version = !has_none;
  if (!has_none) file->version = *version;
  file->is_current = true;
  return absl::OkStatus();
}

absl::StatusOr<int> RemoteFiles::OpenTaken(const std::string& name, File* file) {
  // A first fetch finds the version by itself.
  if (file->has_version) CAIRN_RETURN_IF_ERROR(CheckVersion(name, file));
  if (file->descriptor >= 0) return OpenReader(file->descriptor);
  CAIRN_ASSIGN_OR_RETURN(Address address, AddressOf(name));
  Fetch fetch(this, name, std::move(address), file->has_version ? &file->version : nullptr);
  CAIRN_RETURN_IF_ERROR(fetch.Run());
  file->version = fetch.version();
  file->has_version = true;
  file->is_current = true;
  MutexLock lock(&mutex_);
  file->descriptor = fetch.Release();
  return OpenReader(file->descriptor);
}

absl::StatusOr<int> RemoteFiles::Open(const std::string& name) {
  File* const file = Take(name);
  const absl::StatusOr<int> descriptor = OpenTaken(name, file);
  GiveBack(file);
  if (descriptor.ok()) return descriptor;
  return Named(name, descriptor.status());
}

absl::StatusOr<uint64_t> RemoteFiles::Size(const std::string& name) {
  File* const file = Take(name);
  absl::Status status = CheckVersion(name, file);
  bool has_version = file->has_version;
  if (status.ok() && !has_version) {
    // The server does not say the size: the whole file is counted.
    const absl::StatusOr<int> descriptor = OpenTaken(name, file);
    status = descriptor.status();
    if (descriptor.ok()) close(*descriptor);
  }
  const uint64_t size = file->version.size;
  GiveBack(file);
  if (status.ok()) return size;
  return Named(name, status);
}

void RemoteFiles::Renew(const std::string& name) {
  File* const file = Take(name);
  file->is_current = false;
  GiveBack(file);
}

absl::StatusOr<std::vector<std::string>> RemoteFiles::Match(const std::string& pattern) {
  CAIRN_ASSIGN_OR_RETURN(const job::DataUrl url, job::ParseDataUrl(pattern));
  const std::string bucket = absl::StrCat("s3://", url.host, "/");
  CAIRN_ASSIGN_OR_RETURN(const Address address, AddressOf(bucket + "x"));
  const std::string prefix = url.path.substr(0, url.path.find_first_of("*?["));
  std::vector<std::string> found;
  std::set<std::string> tokens;
  std::string token;
  do {
    HttpRequest request = address.request;
    request.url.pop_back();
    // In the order of their names, which the signature needs.
    if (!token.empty()) {
      token = absl::StrCat("continuation-token=", PercentEncode(token, false), "&");
    }
    absl::StrAppend(&request.url, "?", token, "encoding-type=url&list-type=2&prefix=",
                    PercentEncode(prefix, /*keeps_slashes=*/false));
    Pauses pauses(options_.patience);
    std::string body;
    while (true) {
      body.clear();
      const absl::StatusOr<HttpReply> reply =
          HttpGet(request, [&body](const HttpReply&, std::string_view piece) {
            body.append(piece);
            return body.size() <= kPageBytesMax
                       ? absl::OkStatus()
                       : absl::DataLossError("the server's list of objects does not end");
          });
      if (reply.ok()) break;
      CAIRN_RETURN_IF_ERROR(Named(pattern, pauses.After(reply.status(), pattern)));
    }
    absl::StatusOr<S3Page> page = ParseS3Page(body);
    if (!page.ok()) return Named(pattern, page.status());
    for (const std::string& key : page->keys) {
      if (fnmatch(url.path.c_str(), key.c_str(), FNM_PATHNAME | FNM_PERIOD) != 0) continue;
      if (!IsUtf8(key)) {
        // Protobuf messages name the file, and their strings are UTF-8.
        return Named(absl::CHexEscape(bucket + key),
                     absl::InvalidArgumentError("its name is not UTF-8; rename it"));
      }
      found.push_back(bucket + key);
    }
    token = std::move(page->next);
    if (found.size() > kKeysMax || (!token.empty() && !tokens.insert(token).second)) {
      return Named(pattern, absl::DataLossError("the server's list of objects does not end"));
    }
  } while (!token.empty());
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

absl::Status RemoteFiles::Reserve(const std::string& name, uint64_t bytes) {
  MutexLock lock(&mutex_);
  while (bytes > options_.bytes_max || bytes_ > options_.bytes_max - bytes) {
    File* oldest = nullptr;
    for (auto& [other, file] : files_) {
      if (file.is_busy || file.descriptor < 0 || bytes > options_.bytes_max) continue;
      if (oldest != nullptr && oldest->last_use <= file.last_use) continue;
      if (!IsInUse(file.descriptor)) oldest = &file;
    }
    if (oldest == nullptr) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "no room for a copy of ", bytes, " bytes: copies of remote files may take ",
          options_.bytes_max >> 20,
          " MiB on this worker, and those in use stay; give it more with --data_cache"));
    }
    close(std::exchange(oldest->descriptor, -1));
    bytes_ -= oldest->version.size;
  }
  bytes_ += bytes;
  return absl::OkStatus();
}

void RemoteFiles::Return(uint64_t bytes) {
  MutexLock lock(&mutex_);
  bytes_ -= bytes;
}

}  // namespace cairn::worker
