#ifndef CAIRN_CLI_LOCAL_NEW_FOLDERS_H_
#define CAIRN_CLI_LOCAL_NEW_FOLDERS_H_

#include <filesystem>
#include <vector>

#include "absl/status/status.h"

namespace cairn::cli {

// Folders that are created for an operation that may still fail, such as writing a file to a full
// disk. The destructor removes those that are empty, unless they are kept. Not thread-safe.
class NewFolders {
 public:
  NewFolders() = default;
  ~NewFolders();
  NewFolders(const NewFolders&) = delete;
  NewFolders& operator=(const NewFolders&) = delete;

  // Creates the folder and its missing parents. An empty path is the working directory. Errors
  // contain the folder's name, and what is in its place or the operating system's reason.
  absl::Status Make(const std::filesystem::path& folder);

  // Keeps all folders that were created so far.
  void Keep() { made_.clear(); }

 private:
  std::vector<std::filesystem::path> made_;  // Parents first.
};

}  // namespace cairn::cli

#endif  // CAIRN_CLI_LOCAL_NEW_FOLDERS_H_
