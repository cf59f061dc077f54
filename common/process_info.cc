#include "common/process_info.h"

#include <unistd.h>

#include <fstream>

namespace cairn {

int64_t ResidentMemoryBytes() {
  // proc(5): the second number of statm counts resident pages.
  std::ifstream statm("/proc/self/statm");
  int64_t total = 0;
  int64_t resident = 0;
  return statm >> total >> resident ? resident * sysconf(_SC_PAGESIZE) : 0;
}

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

}  // namespace cairn
