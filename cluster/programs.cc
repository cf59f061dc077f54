#include "cluster/programs.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace cairn::cluster {

absl::StatusOr<std::string> FindProgram(const std::string& folder, const std::string& name) {
  namespace fs = std::filesystem;
  const fs::path beside = fs::path(folder) / name;
  const fs::path built = (fs::path(folder) / ".." / name / name).lexically_normal();
  for (const fs::path& path : {beside, built}) {
    std::error_code ignored;
    if (fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0) return path.string();
  }
  return absl::NotFoundError(absl::StrCat("the program ", name, " is neither at ", beside.string(),
                                          " nor at ", built.string(),
                                          "; build it: bazel build -c opt //", name));
}

absl::StatusOr<std::string> OwnFolder() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) {
    return absl::ErrnoToStatus(error.value(), "cannot determine the path of this program");
  }
  return self.parent_path().string();
}

}  // namespace cairn::cluster
