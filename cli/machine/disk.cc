#include "cli/machine/disk.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/view/cluster_text.h"
#include "common/clock.h"

namespace cairn::cli {
namespace {

// The directory, or its nearest parent that exists.
std::filesystem::path NearestFolder(const std::string& state) {
  std::filesystem::path folder = std::filesystem::absolute(state).lexically_normal();
  std::error_code ignored;
  while (!std::filesystem::is_directory(folder, ignored) && folder.has_relative_path()) {
    folder = folder.parent_path();
  }
  return folder;
}

// The file that stands in the place of the state directory or of one of its parents. Empty if there
// is none.
std::filesystem::path WhatIsInTheWay(const std::string& state) {
  std::error_code ignored;
  std::filesystem::path path = std::filesystem::absolute(state).lexically_normal();
  for (; path.has_relative_path(); path = path.parent_path()) {
    // A link to a missing file counts too.
    if (!std::filesystem::exists(std::filesystem::symlink_status(path, ignored))) continue;
    const auto status = std::filesystem::status(path, ignored);
    return std::filesystem::is_directory(status) ? std::filesystem::path() : path;
  }
  return {};
}

// The median time of appending a page to a file and syncing it. Every decision of a coordinator
// waits for such a sync.
absl::StatusOr<absl::Duration> MeasureSync(const std::filesystem::path& folder) {
  constexpr int kTimes = 15;
  const std::string file = (folder / absl::StrCat(".cairn-doctor-", getpid())).string();
  const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) return absl::ErrnoToStatus(errno, "nothing can be written there");
  const RealClock clock;
  const std::string page(4096, 'x');
  std::vector<absl::Duration> times;
  bool is_good = true;
  for (int i = 0; i < kTimes && is_good; ++i) {
    const absl::Duration begin = clock.Now();
    is_good = write(descriptor, page.data(), page.size()) == static_cast<ssize_t>(page.size()) &&
              fdatasync(descriptor) == 0;
    times.push_back(clock.Now() - begin);
  }
  const int error = errno;
  close(descriptor);
  unlink(file.c_str());
  if (!is_good) return absl::ErrnoToStatus(error, "writing fails");
  std::nth_element(times.begin(), times.begin() + kTimes / 2, times.end());
  return times[kTimes / 2];
}

}  // namespace

std::vector<Check> CheckDisk(const std::string& state) {
  const std::filesystem::path obstacle = WhatIsInTheWay(state);
  if (!obstacle.empty()) {
    return {{Check::Level::kFail, "disk", absl::StrCat(obstacle.string(), " is not a directory"),
             "remove it, or choose another directory with --state DIR"}};
  }
  const std::filesystem::path folder = NearestFolder(state);
  std::vector<Check> checks;
  struct statvfs disk {};
  if (statvfs(folder.c_str(), &disk) == 0) {
    const auto free = static_cast<int64_t>(disk.f_bavail) * static_cast<int64_t>(disk.f_frsize);
    checks.push_back(JudgeRoom(folder.string(), free));
  }
  const auto median = MeasureSync(folder);
  if (median.ok()) {
    checks.push_back(JudgeSync(*median));
  } else {
    checks.push_back({Check::Level::kFail, "disk sync",
                      absl::StrCat(folder.string(), ": ", std::string(median.status().message())),
                      "choose a writable directory with --state DIR"});
  }
  return checks;
}

Check JudgeRoom(const std::string& folder, int64_t free_bytes) {
  constexpr int64_t kLittle = int64_t{5} << 30;
  constexpr int64_t kTooLittle = int64_t{200} << 20;
  Check check;
  check.subject = "disk room";
  check.found = absl::StrCat(BytesText(free_bytes), " free for the state in ", folder);
  if (free_bytes >= kLittle) return check;
  check.level = free_bytes < kTooLittle ? Check::Level::kFail : Check::Level::kWarn;
  check.fix =
      "a checkpoint is three times as large as the model with Adam, and \"keep\" of them stay: "
      "make room, or put the state elsewhere with --state DIR";
  return check;
}

Check JudgeSync(absl::Duration median) {
  constexpr absl::Duration kSlow = absl::Milliseconds(50);
  Check check;
  check.subject = "disk sync";
  check.found = absl::StrFormat("%.1f ms until a page is safe", absl::ToDoubleMilliseconds(median));
  if (median < kSlow) return check;
  check.level = Check::Level::kWarn;
  check.fix =
      "every decision of the coordinator waits for this; choose a faster disk with --state DIR";
  return check;
}

}  // namespace cairn::cli
