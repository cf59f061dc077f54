#include "cli/local/unnamed_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "cli/files.h"

namespace cairn::cli {

std::string TemporaryFolder(const std::vector<std::string>& environment) {
  for (absl::string_view variable : environment) {
    if (absl::ConsumePrefix(&variable, "TMPDIR=") && !variable.empty()) {
      return std::string(variable);
    }
  }
  return "/tmp";
}

absl::StatusOr<UnnamedFile> UnnamedFile::Make(const std::string& folder) {
  std::string name = folder + "/cairn-XXXXXX";
  const int descriptor = mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot create a temporary file in ", folder,
                                                   "; set TMPDIR to a writable folder"));
  }
  unlink(name.c_str());
  return UnnamedFile(descriptor, folder);
}

UnnamedFile::~UnnamedFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::string UnnamedFile::path() const {
  return absl::StrCat("/proc/", getpid(), "/fd/", descriptor_);
}

absl::Status UnnamedFile::Write(std::string_view bytes) const {
  const int error = WriteAll(descriptor_, bytes);
  if (error == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(error, absl::StrCat("cannot write a temporary file in ", folder_));
}

}  // namespace cairn::cli
