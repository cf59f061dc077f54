#include "tests/cli/run_cairn.h"

#include <sstream>

#include "cli/commands/command_line.h"

namespace cairn::cli {

std::vector<nlohmann::json> Result::lines() const {
  std::vector<nlohmann::json> result;
  std::istringstream text(out);
  for (std::string line; std::getline(text, line);) result.push_back(nlohmann::json::parse(line));
  return result;
}

Result RunCairn(const std::vector<std::string>& arguments, const std::string& programs) {
  std::ostringstream out, err;
  CommandContext context;
  context.out = &out;
  context.err = &err;
  context.programs_folder = programs;
  Result result;
  result.exit_code = RunCommandLine(arguments, context);
  result.out = out.str();
  result.err = err.str();
  return result;
}

}  // namespace cairn::cli
