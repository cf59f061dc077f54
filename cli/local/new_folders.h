#ifndef CAIRN_CLI_LOCAL_NEW_FOLDERS_H_
#define CAIRN_CLI_LOCAL_NEW_FOLDERS_H_

#include <filesystem>
#include <vector>

#include "absl/status/status.h"

namespace cairn::cli {

// Folders that were made for something that may still fail, such as writing a file on a full disk.
// Unless they are kept, those that are empty are removed at the end. Not thread-safe.
class NewFolders {
 public:
  NewFolders() = default;
  ~NewFolders();
  NewFolders(const NewFolders&) = delete;
  NewFolders& operator=(const NewFolders&) = delete;

  // Makes the folder, and those above it that are missing; an empty path is the working directory.
  // Errors name `folder` and what is in the way, or the operating system's reason.
  absl::Status Make(const std::filesystem::path& folder);

  // What was made so far stays.
  void Keep() { made_.clear(); }

 private:
  std::vector<std::filesystem::path> made_;  // Each after those above it.
};

}  // namespace cairn::cli

#endif  // CAIRN_CLI_LOCAL_NEW_FOLDERS_H_
