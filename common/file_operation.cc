#include "common/file_operation.h"

#include <signal.h>

#include <map>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

namespace cairn {
namespace {

using std::chrono::steady_clock;

constexpr char kFix[] = "check the disk or the file server that it is on";

// The operations that have not ended, by path.
struct Unfinished {
  Mutex mutex;
  std::map<std::string, std::shared_ptr<FileOperation>> operations ABSL_GUARDED_BY(mutex);
};

// Never destroyed, because operations may outlive main.
Unfinished& AllUnfinished() {
  static auto& unfinished = *new Unfinished;
  return unfinished;
}

void Remove(const std::string& path) {
  Unfinished& all = AllUnfinished();
  MutexLock lock(&all.mutex);
  all.operations.erase(path);
}

// Enters an operation, or returns the one on this path that has not ended.
absl::StatusOr<std::shared_ptr<FileOperation>> Enter(
    const std::string& path, const std::shared_ptr<FileOperation>& operation) {
  Unfinished& all = AllUnfinished();
  MutexLock lock(&all.mutex);
  const auto found = all.operations.find(path);
  if (found != all.operations.end()) return found->second;
  if (all.operations.size() >= FileOperation::kUnfinishedMax) {
    return absl::UnavailableError(absl::StrCat(path, ": not tried, because ", all.operations.size(),
                                               " other files have not answered; ", kFix));
  }
  all.operations[path] = operation;
  return nullptr;
}

}  // namespace

absl::Duration FileOperation::age() const { return absl::FromChrono(steady_clock::now() - begin_); }

absl::Status FileOperation::NoAnswer() const {
  const absl::Duration unit =
      age() < absl::Seconds(10) ? absl::Milliseconds(100) : absl::Seconds(1);
  return absl::UnavailableError(absl::StrCat(path_, ": has not answered for ",
                                             absl::FormatDuration(absl::Trunc(age(), unit)), "; ",
                                             kFix));
}

absl::StatusOr<std::shared_ptr<FileOperation>> FileOperation::Start(const std::string& path,
                                                                    Work work,
                                                                    absl::Duration patience) {
  const std::shared_ptr<FileOperation> operation(new FileOperation(path));
  while (true) {
    const auto last = Enter(path, operation);
    if (!last.ok()) return last.status();
    if (*last == nullptr) break;
    if (!(*last)->Wait(patience - (*last)->age()).has_value()) return (*last)->NoAnswer();
  }
  // Programs wait for signals in other threads, which block them later.
  sigset_t all_signals;
  sigset_t before;
  sigfillset(&all_signals);
  pthread_sigmask(SIG_BLOCK, &all_signals, &before);
  const absl::Cleanup restore = [&before] { pthread_sigmask(SIG_SETMASK, &before, nullptr); };
  try {
    // Nobody could join a thread that hangs.
    std::thread([operation, work = std::move(work)] { operation->Execute(work); }).detach();
  } catch (const std::system_error& error) {
    Remove(path);
    return absl::UnavailableError(
        absl::StrCat(path, ": cannot start a thread for it: ", error.code().message(),
                     "; allow more processes (ulimit -u) or memory"));
  }
  return operation;
}

absl::Status FileOperation::Run(const std::string& path, Work work, absl::Duration limit) {
  absl::StatusOr<std::shared_ptr<FileOperation>> operation = Start(path, std::move(work), limit);
  if (!operation.ok()) return operation.status();
  const std::optional<absl::Status> result = (*operation)->Wait(limit);
  return result.has_value() ? *result : (*operation)->NoAnswer();
}

void FileOperation::Execute(const Work& work) {
  absl::Status status = work();
  // First: whoever sees the result may start the next operation.
  Remove(path_);
  MutexLock lock(&mutex_);
  result_ = std::move(status);
  changed_.NotifyAll();
}

std::optional<absl::Status> FileOperation::Wait(absl::Duration limit) {
  constexpr absl::Duration kForever = absl::Hours(10'000);
  const auto deadline = steady_clock::now() + absl::ToChronoNanoseconds(std::min(limit, kForever));
  MutexLock lock(&mutex_);
  while (!result_.has_value()) {
    const auto left = deadline - steady_clock::now();
    if (left.count() <= 0) break;
    changed_.WaitFor(&mutex_, left);
  }
  return result_;
}

}  // namespace cairn
