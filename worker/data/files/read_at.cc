#include "worker/data/files/read_at.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/check.h"
#include "common/logging.h"

namespace cairn::worker {
namespace {

std::atomic<uint64_t> files_opened = 0;
std::atomic<uint64_t> file_reads = 0;
thread_local ReadTimer* read_timer = nullptr;

int64_t NanosecondsOf(clockid_t clock) {
  struct timespec time = {};
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

constexpr absl::Duration kFirstPause = absl::Milliseconds(10);
constexpr absl::Duration kLongestPause = absl::Seconds(1);

// The pauses between attempts: from kFirstPause, doubled up to kLongestPause, `patience` in all.
class Attempts {
 public:
  explicit Attempts(absl::Duration patience) : end_(absl::Now() + patience) {}

  // Sleeps before the next attempt. False if there is none.
  bool Again() {
    if (absl::Now() + pause_ > end_) return false;
    absl::SleepFor(pause_);
    pause_ = std::min(2 * pause_, kLongestPause);
    ++count_;
    return true;
  }
  int count() const { return count_; }

 private:
  const absl::Time end_;
  absl::Duration pause_ = kFirstPause;
  int count_ = 1;
};

}  // namespace

TimedRead::TimedRead() {
  if (read_timer == nullptr) return;
  begin_ = NanosecondsOf(CLOCK_MONOTONIC);
  processor_begin_ = ReadTimer::ProcessorNanoseconds();
}

TimedRead::~TimedRead() {
  if (read_timer == nullptr) return;
  read_timer->processor_nanoseconds_ += ReadTimer::ProcessorNanoseconds() - processor_begin_;
  read_timer->nanoseconds_ += NanosecondsOf(CLOCK_MONOTONIC) - begin_;
}

void CountRead() { file_reads.fetch_add(1, std::memory_order_relaxed); }

ReadTimer::ReadTimer() {
  CAIRN_CHECK(read_timer == nullptr);
  read_timer = this;
}

ReadTimer::~ReadTimer() { read_timer = nullptr; }

int64_t ReadTimer::ProcessorNanoseconds() { return NanosecondsOf(CLOCK_THREAD_CPUTIME_ID); }

bool IsTransient(int error) {
  switch (error) {
    case EIO:
    case EAGAIN:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOBUFS:
    case ESTALE:
    case ETIMEDOUT:
    case EREMOTEIO:
    case ENOLINK:
    case ENOTCONN:
    case ENETDOWN:
    case ENETUNREACH:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ECONNREFUSED:
    case ECONNRESET:
    case ECONNABORTED:
      return true;
    default:
      return false;
  }
}

absl::StatusOr<size_t> ReadAt(int descriptor, uint64_t offset, size_t count, char* to,
                              const std::string& name, absl::Duration patience) {
  const TimedRead timed;
  Attempts attempts(patience);
  size_t done = 0;
  while (done < count) {
    const ssize_t got =
        pread(descriptor, to + done, count - done, static_cast<off_t>(offset + done));
    if (got == 0) break;
    if (got > 0) {
      CountRead();
      done += got;
      continue;
    }
    const int error = errno;
    if (error == EINTR) continue;
    const std::string what = absl::StrCat("data file ", name, ": cannot read byte ", offset + done,
                                          ": ", strerror(error));
    if (!IsTransient(error)) return absl::DataLossError(what);
    if (attempts.count() == 1) CAIRN_LOG_WARNING("a read failed; trying again", "error", what);
    if (!attempts.Again()) {
      return absl::UnavailableError(absl::StrCat(what, " (tried ", attempts.count(), " times in ",
                                                 absl::FormatDuration(patience), ")"));
    }
  }
  if (attempts.count() > 1) {
    CAIRN_LOG_INFO("the data file can be read again", "file", name, "attempts", attempts.count());
  }
  return done;
}

int OpenPatiently(const std::string& path, int flags, absl::Duration patience) {
  const TimedRead timed;
  Attempts attempts(patience);
  while (true) {
    const int descriptor = open(path.c_str(), flags);
    if (descriptor >= 0) {
      files_opened.fetch_add(1, std::memory_order_relaxed);
      return descriptor;
    }
    const int error = errno;
    if (error == EINTR) continue;
    if (!IsTransient(error) || !attempts.Again()) return -error;
  }
}

absl::StatusOr<struct stat> StatPatiently(int descriptor, const std::string& name,
                                          absl::Duration patience) {
  Attempts attempts(patience);
  struct stat status;
  while (fstat(descriptor, &status) != 0) {
    const int error = errno;
    if (!IsTransient(error) || !attempts.Again()) return CannotRead(name, error);
  }
  return status;
}

absl::Status CannotRead(const std::string& name, int error) {
  const std::string what = absl::StrCat("cannot read data file ", name);
  if (!IsTransient(error)) return absl::ErrnoToStatus(error, what);
  return absl::UnavailableError(absl::StrCat(what, ": ", strerror(error)));
}

uint64_t FilesOpened() { return files_opened.load(std::memory_order_relaxed); }

uint64_t FileReads() { return file_reads.load(std::memory_order_relaxed); }

}  // namespace cairn::worker
