#include "worker/data/files/file_folder.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "job/data_url.h"
#include "worker/data/files/read_at.h"

namespace cairn::worker {
namespace {

// The most class names that a message lists.
constexpr size_t kNamesShown = 20;
// Folders that are deeper are refused; a file system can contain itself.
constexpr int kDepthMax = 64;

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

struct Entries {
  std::vector<std::string> folders;  // Links to folders among them.
  std::vector<std::string> links;    // Of the folders.
  std::vector<std::string> files;
};

absl::Status Wrong(const std::string& path, const std::string& reason) {
  return absl::InvalidArgumentError(absl::StrCat("data folder ", path, ": ", reason));
}

std::string Joined(const std::string& folder, const std::string& name) {
  return absl::StrCat(absl::StripSuffix(folder, "/"), "/", name);
}

absl::StatusOr<bool> IsFolder(const std::string& path) {
  if (job::IsDataUrl(path)) return false;
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return CannotRead(path, errno);
  return S_ISDIR(status.st_mode);
}

// The entries of a folder, each list sorted.
absl::StatusOr<Entries> Read(const std::string& folder) {
  if (job::IsDataUrl(folder)) {
    return Wrong(folder, "folders are read from local disks only; name the files instead");
  }
  const std::unique_ptr<DIR, CloseFolder> open(opendir(folder.c_str()));
  if (open == nullptr) return CannotRead(folder, errno);
  Entries entries;
  while (true) {
    errno = 0;
    const dirent* const entry = readdir(open.get());
    if (entry == nullptr && errno != 0) return CannotRead(folder, errno);
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    const std::string path = Joined(folder, name);
    struct stat status;
    if (stat(path.c_str(), &status) != 0) {
      // A link to nowhere, or a file that was removed meanwhile.
      if (errno == ENOENT || errno == ELOOP) continue;
      return CannotRead(path, errno);
    }
    if (!S_ISDIR(status.st_mode)) {
      entries.files.push_back(name);
      continue;
    }
    entries.folders.push_back(name);
    if (lstat(path.c_str(), &status) != 0) return CannotRead(path, errno);
    if (S_ISLNK(status.st_mode)) entries.links.push_back(name);
  }
  absl::c_sort(entries.folders);
  absl::c_sort(entries.files);
  return entries;
}

bool HasExtension(const std::string& name, const std::vector<std::string>& extensions) {
  const std::string lower = absl::AsciiStrToLower(name);
  return absl::c_any_of(extensions, [&](const auto& each) { return absl::EndsWith(lower, each); });
}

// The files of one folder. The path is the order of folders.
using FilesOfFolders = std::vector<std::pair<std::string, std::vector<std::string>>>;

absl::Status Walk(const std::string& folder, const ExampleFiles& wanted, int depth,
                  FilesOfFolders* found) {
  if (depth > kDepthMax) return Wrong(folder, "it is too deep below its class folder");
  CAIRN_ASSIGN_OR_RETURN(const Entries entries, Read(folder));
  std::vector<std::string> files;
  const auto is_skipped = [&wanted](const std::string& name) {
    return wanted.skips_hidden && (name[0] == '_' || name[0] == '.');
  };
  for (const std::string& name : entries.files) {
    if (is_skipped(name)) continue;
    if (HasExtension(name, wanted.refused)) {
      return absl::InvalidArgumentError(
          absl::StrCat("data file ", Joined(folder, absl::CHexEscape(name)), ": not a ",
                       wanted.what, "; convert it, or remove it"));
    }
    if (!HasExtension(name, wanted.extensions)) continue;
    files.push_back(Joined(folder, name));
    // Protobuf messages name the file, and their strings are UTF-8.
    if (IsUtf8(files.back())) continue;
    return absl::InvalidArgumentError(absl::StrCat("data file ", absl::CHexEscape(files.back()),
                                                   ": its name is not UTF-8; rename it"));
  }
  found->emplace_back(folder, std::move(files));
  for (const std::string& name : entries.folders) {
    if (is_skipped(name) || absl::c_linear_search(entries.links, name)) continue;
    CAIRN_RETURN_IF_ERROR(Walk(Joined(folder, name), wanted, depth + 1, found));
  }
  return absl::OkStatus();
}

// Appends the files below a folder.
absl::Status AddFiles(const std::string& folder, const ExampleFiles& wanted,
                      std::vector<std::string>* files) {
  FilesOfFolders found;
  CAIRN_RETURN_IF_ERROR(Walk(folder, wanted, 0, &found));
  absl::c_sort(found);
  for (auto& [path, names] : found) files->insert(files->end(), names.begin(), names.end());
  return absl::OkStatus();
}

absl::Status CheckSome(const std::vector<std::string>& files, const std::string& directory,
                       const ExampleFiles& wanted, const char* where) {
  if (!files.empty()) return absl::OkStatus();
  return Wrong(directory, absl::StrCat("no ", wanted.what, " is in ", where));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ClassFolders(const std::string& directory) {
  CAIRN_ASSIGN_OR_RETURN(const bool is_folder, IsFolder(directory));
  // Read says why an address is refused.
  if (!is_folder && !job::IsDataUrl(directory)) {
    return Wrong(directory, "it is a file; expected a folder that has a folder for each class");
  }
  CAIRN_ASSIGN_OR_RETURN(Entries entries, Read(directory));
  std::vector<std::string> classes = std::move(entries.folders);
  classes.erase(std::remove_if(classes.begin(), classes.end(),
                               [](const auto& name) { return absl::StartsWith(name, "."); }),
                classes.end());
  if (classes.empty()) {
    return Wrong(directory, "it has no folders; expected a folder for each class");
  }
  return classes;
}

absl::StatusOr<std::vector<std::string>> ListClassFiles(const std::vector<std::string>& directories,
                                                        const std::vector<std::string>& class_names,
                                                        const ExampleFiles& wanted) {
  std::vector<std::string> files;
  for (const std::string& directory : directories) {
    CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> folders, ClassFolders(directory));
    for (const std::string& name : class_names.empty() ? folders : class_names) {
      if (!absl::c_binary_search(folders, name)) continue;
      CAIRN_RETURN_IF_ERROR(AddFiles(Joined(directory, name), wanted, &files));
    }
  }
  CAIRN_RETURN_IF_ERROR(
      CheckSome(files, absl::StrJoin(directories, ", "), wanted, "its class folders"));
  return files;
}

absl::StatusOr<std::vector<std::string>> ListAllFiles(const std::vector<std::string>& entries,
                                                      const ExampleFiles& wanted) {
  std::vector<std::string> files;
  for (const std::string& entry : entries) {
    CAIRN_ASSIGN_OR_RETURN(const bool is_folder, IsFolder(entry));
    if (!is_folder) {
      files.push_back(entry);
      continue;
    }
    CAIRN_RETURN_IF_ERROR(AddFiles(std::string(absl::StripSuffix(entry, "/")), wanted, &files));
  }
  CAIRN_RETURN_IF_ERROR(CheckSome(files, absl::StrJoin(entries, ", "), wanted, "it"));
  return files;
}

std::string ClassOfFile(const std::vector<std::string>& directories, const std::string& file) {
  size_t begin = 0;
  for (const std::string& directory : directories) {
    const std::string folder = Joined(directory, "");
    if (absl::StartsWith(file, folder)) begin = std::max(begin, folder.size());
  }
  return file.substr(begin, file.find('/', begin) - begin);
}

absl::StatusOr<std::vector<std::string>> ClassesIn(const std::vector<std::string>& directories,
                                                   const std::vector<std::string>& class_names) {
  std::set<std::string> found;
  for (const std::string& directory : directories) {
    CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> folders, ClassFolders(directory));
    found.insert(folders.begin(), folders.end());
  }
  std::vector<std::string> classes(found.begin(), found.end());
  for (const std::string& name : class_names) {
    if (found.count(name) > 0) continue;
    const size_t more = classes.size() - std::min(classes.size(), kNamesShown);
    classes.resize(classes.size() - more);
    return Wrong(absl::StrJoin(directories, ", "),
                 absl::StrCat("\"class_names\" has \"", name, "\", which is none of its folders ",
                              absl::StrJoin(classes, ", "),
                              more > 0 ? absl::StrCat(" and ", more, " more") : ""));
  }
  return class_names.empty() ? classes : class_names;
}

}  // namespace cairn::worker
