#ifndef CAIRN_CLI_HELP_STARTER_H_
#define CAIRN_CLI_HELP_STARTER_H_

#include <string>
#include <vector>

namespace cairn::cli {

struct StarterFile {
  std::string name;
  std::string contents;
};

// The files that `cairn init` writes: a job file with comments, its model in Keras's format, and a
// small data set (points on three arms of a spiral; the arms are the classes). The job trains in
// seconds without changes. The bytes are always the same.
std::vector<StarterFile> StarterFiles();

}  // namespace cairn::cli

#endif  // CAIRN_CLI_HELP_STARTER_H_
