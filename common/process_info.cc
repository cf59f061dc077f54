#include "common/process_info.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "absl/strings/str_cat.h"

namespace cairn {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

// The number in a file of the control group, or kNoLimit: "max", a missing file, or the huge number
// that version 1 means by no limit.
int64_t ReadLimit(const std::string& path) {
  std::ifstream file(path);
  int64_t bytes = 0;
  return file >> bytes && bytes > 0 ? bytes : kNoLimit;
}

// The lowest limit of the process's groups and the groups above them. A line of /proc/self/cgroup
// is "0::/a/b" in version 2 and "9:memory:/a/b" in version 1. In a container the own group may be
// mounted as the root.
int64_t CgroupLimit() {
  int64_t limit = kNoLimit;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t begin = line.find(':');
    const size_t end = line.find(':', begin + 1);
    if (begin == std::string::npos || end == std::string::npos) continue;
    const std::string controllers = line.substr(begin + 1, end - begin - 1);
    const bool is_v1 = ("," + controllers + ",").find(",memory,") != std::string::npos;
    if (!controllers.empty() && !is_v1) continue;
    const std::string root = is_v1 ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup";
    const std::string file = is_v1 ? "/memory.limit_in_bytes" : "/memory.max";
    for (std::string group = line.substr(end + 1);; group.erase(group.rfind('/'))) {
      if (group == "/") group.clear();
      limit = std::min(limit, ReadLimit(root + group + file));
      if (group.rfind('/') == std::string::npos) break;
    }
  }
  return limit;
}

// proc(5): the first line is "MemTotal:  16384 kB".
int64_t MachineMemory() {
  std::ifstream meminfo("/proc/meminfo");
  std::string name;
  int64_t kilobytes = 0;
  return meminfo >> name >> kilobytes && name == "MemTotal:" ? kilobytes * 1024 : kNoLimit;
}

int64_t AddressSpaceLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kNoLimit;
  return static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, kNoLimit));
}

}  // namespace

int64_t ResidentMemoryBytes() {
  // proc(5): the second number of statm counts resident pages.
  std::ifstream statm("/proc/self/statm");
  int64_t total = 0;
  int64_t resident = 0;
  return statm >> total >> resident ? resident * sysconf(_SC_PAGESIZE) : 0;
}

int64_t MemoryLimitBytes() {
  const int64_t limit = std::min({MachineMemory(), CgroupLimit(), AddressSpaceLimit()});
  return limit == kNoLimit ? 0 : limit;
}

absl::Status CheckAddressSpace() {
  const int64_t limit = AddressSpaceLimit();
  if (limit >= kAddressSpaceMin) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the limit of the address space is ", limit >> 20, " MiB (ulimit -v), at least ",
      kAddressSpaceMin >> 20,
      " MiB are needed; raise it: ulimit -v unlimited, or systemd's LimitAS=infinity"));
}

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

}  // namespace cairn
