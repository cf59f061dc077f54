#include "worker/data/files/file_list.h"

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "job/data_url.h"
#include "worker/data/files/read_at.h"
#include "worker/data/remote/remote_files.h"

namespace cairn::worker {
namespace {

// A file whose name contains such characters is not a pattern. An http address is none either: a
// server has no list of its files, and ? begins the query.
bool IsPattern(const std::string& name) {
  struct stat status;
  if (job::IsDataUrl(name)) {
    const auto url = job::ParseDataUrl(name);
    return url.ok() && url->is_s3() && url->path.find_first_of("*?[") != std::string::npos;
  }
  return name.find_first_of("*?[") != std::string::npos && lstat(name.c_str(), &status) != 0;
}

// Why glob stopped; its callback gets no data of the caller.
thread_local int stopped_by = 0;

// A folder that cannot be read now would be left out, and its files with it.
int StopIfTransient(const char*, int error) {
  if (IsTransient(error)) stopped_by = error;
  return stopped_by;
}

absl::StatusOr<std::vector<std::string>> MatchKeys(const std::string& pattern) {
  CAIRN_ASSIGN_OR_RETURN(std::vector<std::string> files, RemoteFiles::OfProcess().Match(pattern));
  if (!files.empty()) return files;
  return absl::NotFoundError(absl::StrCat("no data file matches ", pattern));
}

absl::StatusOr<std::vector<std::string>> Match(const std::string& pattern) {
  if (job::IsDataUrl(pattern)) return MatchKeys(pattern);
  glob_t found = {};
  stopped_by = 0;
  const int failure = glob(pattern.c_str(), GLOB_NOSORT, StopIfTransient, &found);
  std::vector<std::string> files(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  if (stopped_by != 0) return CannotRead(pattern, stopped_by);
  if (failure != 0 && failure != GLOB_NOMATCH) {
    return absl::ResourceExhaustedError(absl::StrCat("cannot look for data files ", pattern));
  }
  if (files.empty()) {
    return absl::NotFoundError(absl::StrCat("no data file matches ", pattern));
  }
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    if (IsUtf8(file)) continue;  // Protobuf messages name the file, and their strings are UTF-8.
    return absl::InvalidArgumentError(
        absl::StrCat("data file ", absl::CHexEscape(file), ": its name is not UTF-8; rename it"));
  }
  return files;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ExpandFileNames(const std::vector<std::string>& names) {
  std::vector<std::string> all;
  std::set<std::string> seen;
  for (const std::string& name : names) {
    std::vector<std::string> files = {name};
    if (IsPattern(name)) {
      CAIRN_ASSIGN_OR_RETURN(files, Match(name));
    }
    for (const std::string& file : files) {
      if (!seen.insert(file).second) {
        return absl::InvalidArgumentError(
            absl::StrCat("data file ", file, ": named twice, the second time by ", name));
      }
      all.push_back(file);
    }
  }
  return all;
}

}  // namespace cairn::worker
