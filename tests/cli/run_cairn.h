#ifndef CAIRN_TESTS_CLI_RUN_CAIRN_H_
#define CAIRN_TESTS_CLI_RUN_CAIRN_H_

#include <string>
#include <vector>

#include "nlohmann/json.hpp"

namespace cairn::cli {

// What a command printed, and how it ended.
struct Result {
  int exit_code = -1;
  std::string out;
  std::string err;

  // The output of --json.
  std::vector<nlohmann::json> lines() const;
};

// A whole command line, in this process. `programs`: where the daemons' programs lie.
Result RunCairn(const std::vector<std::string>& arguments,
                const std::string& programs = "/no/such/programs");

}  // namespace cairn::cli

#endif  // CAIRN_TESTS_CLI_RUN_CAIRN_H_
