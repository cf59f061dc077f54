#ifndef CAIRN_COMMON_FILE_OPERATION_H_
#define CAIRN_COMMON_FILE_OPERATION_H_

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/mutex.h"

namespace cairn {

// An operation on a file whose disk or file server may hang, even for good. It runs on a thread of
// its own, so its caller waits no longer than it wants to:
//
//   absl::Status status = FileOperation::Run(path, [state] { return state->Read(); }, limit);
//
// The work goes on after that, so it must own all that it uses. Operations on the same path run one
// after the other: a path that does not answer gets no second one, and so the number of threads is
// bounded. Thread-safe.
class FileOperation {
 public:
  using Work = std::function<absl::Status()>;
  // More operations that have not ended are refused.
  static constexpr int kUnfinishedMax = 16;

  // Waits for the end of the last operation on `path`, unless that began `patience` ago.
  // Unavailable: it has not ended, kUnfinishedMax others have not, or the system has no thread. The
  // message names the path and the fix.
  static absl::StatusOr<std::shared_ptr<FileOperation>> Start(
      const std::string& path, Work work, absl::Duration patience = absl::ZeroDuration());
  // Starts the work and waits for it. Unavailable: as Start and NoAnswer. Else the work's status.
  static absl::Status Run(const std::string& path, Work work, absl::Duration limit);
  // The same for work that has a result.
  template <typename Result>
  static absl::StatusOr<Result> Get(const std::string& path,
                                    std::function<absl::StatusOr<Result>()> work,
                                    absl::Duration limit) {
    const auto result = std::make_shared<absl::StatusOr<Result>>();
    const absl::Status done = Run(
        path,
        [work = std::move(work), result] {
          *result = work();
          return absl::OkStatus();
        },
        limit);
    if (!done.ok()) return done;
    return std::move(*result);
  }

  // nullopt: the work has not ended within `limit`, which may be 0.
  std::optional<absl::Status> Wait(absl::Duration limit);
  // Unavailable: the path has not answered since the start.
  absl::Status NoAnswer() const;

 private:
  using Time = std::chrono::steady_clock::time_point;
  explicit FileOperation(std::string path)
      : path_(std::move(path)), begin_(std::chrono::steady_clock::now()) {}

  void Execute(const Work& work);
  absl::Duration age() const;

  const std::string path_;
  const Time begin_;
  Mutex mutex_;
  ConditionVariable changed_;
  std::optional<absl::Status> result_ ABSL_GUARDED_BY(mutex_);
};

// A limit for several operations together.
class TimeLimit {
 public:
  explicit TimeLimit(absl::Duration limit)
      : end_(std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(limit)) {}

  // 0 when it is over.
  absl::Duration left() const {
    return std::max(absl::ZeroDuration(),
                    absl::FromChrono(end_ - std::chrono::steady_clock::now()));
  }

 private:
  const std::chrono::steady_clock::time_point end_;
};

}  // namespace cairn

#endif  // CAIRN_COMMON_FILE_OPERATION_H_
