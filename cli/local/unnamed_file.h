#ifndef CAIRN_CLI_LOCAL_UNNAMED_FILE_H_
#define CAIRN_CLI_LOCAL_UNNAMED_FILE_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace cairn::cli {

// The folder for temporary files: TMPDIR of `environment` (NAME=VALUE), or /tmp.
std::string TemporaryFolder(const std::vector<std::string>& environment);

// A temporary file without a name in its folder. The kernel deletes it when this process ends,
// however it ends. Empty at first. Only this user may read it.
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

  // A path that opens the file, in this process and its children, while this object exists. Write
  // to it in place: no file can be renamed to it.
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
