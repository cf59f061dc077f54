#include "common/standard_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace cairn {

void OpenMissingStandardFiles() {
  for (int file = STDIN_FILENO; file <= STDERR_FILENO; ++file) {
    if (fcntl(file, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest number that is free, which is this one. Not for writing: somebody is to notice.
    if (open("/dev/null", O_RDONLY) != file) return;
  }
}

}  // namespace cairn
