#ifndef CAIRN_TESTS_CLI_RUN_CAIRN_H_
#define CAIRN_TESTS_CLI_RUN_CAIRN_H_

#include <string>
#include <vector>

#include "nlohmann/json.hpp"

namespace cairn::cli {

// The output of a command, and its exit code.
struct Result {
  int exit_code = -1;
  std::string out;
  std::string err;

  // Parses the output of --json.
  std::vector<nlohmann::json> lines() const;
};

// Runs a command line in this process. `programs`: the folder of the daemons' programs.
Result RunCairn(const std::vector<std::string>& arguments,
                const std::string& programs = "/no/such/programs");

}  // namespace cairn::cli

#endif  // CAIRN_TESTS_CLI_RUN_CAIRN_H_
