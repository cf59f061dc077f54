#ifndef CAIRN_CLI_HELP_STARTER_H_
#define CAIRN_CLI_HELP_STARTER_H_

#include <string>
#include <vector>

namespace cairn::cli {

struct StarterFile {
  std::string name;
  std::string contents;
};

// What `cairn init` writes: a job file that explains itself, its model as Keras writes it, and
// small data (three arms of a spiral in the plane, to be told apart) with which it runs as it is,
// in seconds. Always the same bytes.
std::vector<StarterFile> StarterFiles();

}  // namespace cairn::cli

#endif  // CAIRN_CLI_HELP_STARTER_H_
