#include "cli/local/new_folders.h"

#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace cairn::cli {
namespace {

namespace fs = std::filesystem;

// The missing ones of the folder and its parents, parents first.
std::vector<fs::path> MissingOf(const fs::path& folder) {
  std::vector<fs::path> missing;
  std::error_code ignored;
  for (fs::path path = folder; !path.empty() && !fs::is_directory(path, ignored);
       path = path.parent_path()) {
    if (path.has_filename()) missing.insert(missing.begin(), path);
  }
  return missing;
}

absl::Status CannotMake(const fs::path& folder, const fs::path& at, const std::error_code& error) {
  const std::string what = absl::StrCat("cannot create the folder ", folder.string());
  std::error_code ignored;
  const fs::file_status status = fs::status(at, ignored);
  if (!fs::exists(status)) return absl::ErrnoToStatus(error.value(), what);
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": ", at == folder ? "it" : at.string(),
                   fs::is_regular_file(status) ? " is a file" : " exists and is not a folder"));
}

}  // namespace

NewFolders::~NewFolders() {
  std::error_code ignored;  // A folder that is not empty stays.
  for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder) fs::remove(*folder, ignored);
}

absl::Status NewFolders::Make(const fs::path& folder) {
  for (const fs::path& path : MissingOf(folder)) {
    std::error_code error;
    // False without an error: another process has just created it.
    const bool is_made = fs::create_directory(path, error);
    if (error) return CannotMake(folder, path, error);
    if (is_made) made_.push_back(path);
  }
  return absl::OkStatus();
}

}  // namespace cairn::cli
