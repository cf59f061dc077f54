#ifndef CAIRN_WORKER_DATA_REMOTE_REMOTE_FILES_H_
#define CAIRN_WORKER_DATA_REMOTE_REMOTE_FILES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/mutex.h"

namespace cairn::worker {

// Credentials and places are those of the process's environment, never those of a job file.
struct RemoteOptions {
  // Holds unnamed copies, which the system deletes when the process ends.
  std::string folder = "/var/tmp";
  // Of all copies together.
  uint64_t bytes_max = uint64_t{64} << 30;
  // Of one request.
  uint64_t block_bytes = uint64_t{8} << 20;
  // How long a file is tried again after its last byte has arrived.
  absl::Duration patience = absl::Seconds(20);

  std::string access_key;  // Empty: requests are not signed, for public buckets.
  std::string secret_key;
  std::string session_token;
  std::string region = "us-east-1";
  std::string endpoint;  // Of S3. Empty: Amazon's.
  std::string ca_file;   // Empty: the certificates of the system.
};

// The version of an object, as its server names it.
struct RemoteVersion {
  uint64_t size = 0;
  std::string etag;
  std::string last_modified;

  bool operator==(const RemoteVersion& other) const {
    return size == other.size && etag == other.etag && last_modified == other.last_modified;
  }
};

// Copies of data files at http, https and s3 addresses (job/data_url.h), shared by all readers of a
// process. A file is fetched whole, in blocks, when it is first opened. Copies that no reader has
// open are deleted for others when there is no more room, those first that were not used for
// longest, and fetched again when they are needed: then an object that has changed is refused.
//
// Errors name the file. Unavailable: transient errors lasted longer than `patience`. DataLoss: the
// object changed, or the server breaks the protocol. NotFound, PermissionDenied,
// FailedPrecondition: the server's answer. ResourceExhausted: no room for the copy. Thread-safe.
class RemoteFiles {
 public:
  explicit RemoteFiles(RemoteOptions options);
  ~RemoteFiles();
  RemoteFiles(const RemoteFiles&) = delete;
  RemoteFiles& operator=(const RemoteFiles&) = delete;

  // The files of this process. Configure replaces its options, before the first use.
  static void Configure(RemoteOptions options);
  static RemoteFiles& OfProcess();

  // Returns a descriptor of the copy for reading, which the caller closes.
  absl::StatusOr<int> Open(const std::string& name);
  absl::StatusOr<uint64_t> Size(const std::string& name);

  // A job begins to use the file: the next Open or Size asks the server for its version.
  void Renew(const std::string& name);

  // The keys that match an s3 address whose key is a pattern (glob(7)), as addresses, sorted by
  // their bytes. May be empty.
  absl::StatusOr<std::vector<std::string>> Match(const std::string& pattern);

 private:
  struct File {
    bool is_busy = false;  // A thread asks the server for it.
    bool is_current = false;
    bool has_version = false;
    RemoteVersion version;
    int descriptor = -1;  // Of the copy. -1: there is none.
    uint64_t last_use = 0;
  };
  struct Address;
  class Fetch;

  absl::StatusOr<Address> AddressOf(const std::string& name) const;
  absl::StatusOr<RemoteVersion> AskVersion(const std::string& name) const;
  // Waits until no other thread asks for the file, and takes it.
  File* Take(const std::string& name);
  void GiveBack(File* file);
  absl::StatusOr<int> OpenTaken(const std::string& name, File* file);
  absl::Status CheckVersion(const std::string& name, File* file);

  // Reserves room for a copy, and deletes others if necessary.
  absl::Status Reserve(const std::string& name, uint64_t bytes);
  void Return(uint64_t bytes);

  const RemoteOptions options_;
  Mutex mutex_;
  ConditionVariable changed_;
  // Files stay where they are. A busy one belongs to its thread.
  std::map<std::string, File> files_ ABSL_GUARDED_BY(mutex_);
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t uses_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_REMOTE_REMOTE_FILES_H_
