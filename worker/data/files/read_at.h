#ifndef CAIRN_WORKER_DATA_FILES_READ_AT_H_
#define CAIRN_WORKER_DATA_FILES_READ_AT_H_

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace cairn::worker {

// Transient errors of disks and file servers are repeated for this long, with growing pauses.
inline constexpr absl::Duration kReadPatience = absl::Seconds(20);

// Whether a later attempt may succeed: errors of a disk or its cable, of a file server that
// restarts or cannot be reached, and of a kernel or process short of memory or file descriptors.
bool IsTransient(int error);

// Reads `count` bytes at `offset` of an open data file, or fewer at its end, and returns their
// number. Transient errors (EIO, ESTALE, ETIMEDOUT and the like) are repeated for `patience`.
// `name` names the file in messages. Unavailable: the error lasted. DataLoss: another error.
// Thread-safe.
absl::StatusOr<size_t> ReadAt(int descriptor, uint64_t offset, size_t count, char* to,
                              const std::string& name, absl::Duration patience = kReadPatience);

// Opens a file with open(2)'s flags and returns the descriptor, or -errno. Repeats transient errors
// in the same way.
int OpenPatiently(const std::string& path, int flags, absl::Duration patience = kReadPatience);

// The size and times of an open data file. Repeats transient errors in the same way.
absl::StatusOr<struct stat> StatPatiently(int descriptor, const std::string& name,
                                          absl::Duration patience = kReadPatience);

// The error of a data file that cannot be opened. Unavailable: a later attempt may succeed.
absl::Status CannotRead(const std::string& name, int error);

// While it exists, adds up the time that its thread spends in a TimedRead: in ReadAt, in
// OpenPatiently, and in fetching a remote file. One at a time in a thread. Belongs to the thread.
class ReadTimer {
 public:
  ReadTimer();
  ~ReadTimer();
  ReadTimer(const ReadTimer&) = delete;
  ReadTimer& operator=(const ReadTimer&) = delete;

  int64_t nanoseconds() const { return nanoseconds_; }
  // Of the processor, which a read from the page cache takes.
  int64_t processor_nanoseconds() const { return processor_nanoseconds_; }

  // The time of the processor that the calling thread has taken.
  static int64_t ProcessorNanoseconds();

 private:
  friend class TimedRead;

  int64_t nanoseconds_ = 0;
  int64_t processor_nanoseconds_ = 0;
};

// Adds the time of its scope to the ReadTimer of the thread, if there is one.
class TimedRead {
 public:
  TimedRead();
  ~TimedRead();
  TimedRead(const TimedRead&) = delete;
  TimedRead& operator=(const TimedRead&) = delete;

 private:
  int64_t begin_ = 0;
  int64_t processor_begin_ = 0;
};

// A piece of a data file has arrived, by other means than ReadAt.
void CountRead();

// The number of successful calls of OpenPatiently in this process.
uint64_t FilesOpened();

// The number of successful reads by ReadAt, and of calls of CountRead, in this process. While it
// grows, a thread that reads does not hang.
uint64_t FileReads();

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_FILES_READ_AT_H_
