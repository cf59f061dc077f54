#ifndef CAIRN_CLI_LOCAL_UNNAMED_FILE_H_
#define CAIRN_CLI_LOCAL_UNNAMED_FILE_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace cairn::cli {

// Where temporary files go: TMPDIR of this environment (NAME=VALUE), or /tmp.
std::string TemporaryFolder(const std::vector<std::string>& environment);

// A temporary file that has no name in its folder, so that nothing stays behind however this
// process ends. Empty at first; only this user may read it.
class UnnamedFile {
 public:
  // Errors name the folder.
  static absl::StatusOr<UnnamedFile> Make(const std::string& folder);
  ~UnnamedFile();
  UnnamedFile(UnnamedFile&& other) noexcept
      : descriptor_(other.descriptor_), folder_(std::move(other.folder_)) {
    other.descriptor_ = -1;
  }
  UnnamedFile& operator=(UnnamedFile&&) = delete;

  // Opens the file, here and in child processes, while this object lives. To be written in place:
  // nothing can be renamed to it.
  std::string path() const;

  // Appends. Errors name the folder.
  absl::Status Write(std::string_view bytes) const;

 private:
  UnnamedFile(int descriptor, std::string folder)
      : descriptor_(descriptor), folder_(std::move(folder)) {}

  int descriptor_;  // -1: moved away.
  std::string folder_;
};

}  // namespace cairn::cli

#endif  // CAIRN_CLI_LOCAL_UNNAMED_FILE_H_
