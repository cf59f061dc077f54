#include "common/standard_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace cairn {

void OpenMissingStandardFiles() {
  for (int file = STDIN_FILENO; file <= STDERR_FILENO; ++file) {
    if (fcntl(file, F_GETFD) >= 0 || errno != EBADF) continue;
    // open() returns the lowest free descriptor, which is `file`. Read-only, so that writes fail
    // instead of being lost silently.
    if (open("/dev/null", O_RDONLY) != file) return;
  }
}

}  // namespace cairn
