#ifndef CAIRN_WORKER_DATA_FILES_FILE_FOLDER_H_
#define CAIRN_WORKER_DATA_FILES_FILE_FOLDER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace cairn::worker {

// Folders of example files, in the order of Keras's image_dataset_from_directory: class after
// class, in each the folders in the order of their paths, in each of these the files in the order
// of their names. Orders are those of bytes. Links to folders are not followed below a class.
// All errors name the folder or file. NotFound, PermissionDenied, Unavailable: it cannot be read.

// Which files of a folder are examples.
struct ExampleFiles {
  // Of their names, in lower case. Others are ignored.
  std::vector<std::string> extensions;
  // Files that Keras reads and Cairn does not: InvalidArgument.
  std::vector<std::string> refused;
  const char* what = "";  // For messages: ".jpeg, .jpg or .png file".
  // Not those whose name, or that of a folder below the named one, begins with "_" or ".".
  bool skips_hidden = false;
};

// The names of the folders in `directory` that do not begin with a dot, sorted.
absl::StatusOr<std::vector<std::string>> ClassFolders(const std::string& directory);

// The example files of the class folders of each directory: those of `class_names` that exist, in
// this order, or all. InvalidArgument: a directory without class folders or a file, a name that is
// not UTF-8, or there is no example.
absl::StatusOr<std::vector<std::string>> ListClassFiles(const std::vector<std::string>& directories,
                                                        const std::vector<std::string>& class_names,
                                                        const ExampleFiles& wanted);

// The example files at any depth of each entry, which is a directory or an example file.
// InvalidArgument: as above.
absl::StatusOr<std::vector<std::string>> ListAllFiles(const std::vector<std::string>& entries,
                                                      const ExampleFiles& wanted);

// The name of the class folder of a file that ListClassFiles listed.
std::string ClassOfFile(const std::vector<std::string>& directories, const std::string& file);

// The classes of directories in which `class_names`, if there are any, all exist. InvalidArgument:
// one of them does not exist, or a directory has no class folders.
absl::StatusOr<std::vector<std::string>> ClassesIn(const std::vector<std::string>& directories,
                                                   const std::vector<std::string>& class_names);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_FILES_FILE_FOLDER_H_
