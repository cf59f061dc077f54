#include <memory>

#include "cli/commands/command.h"
#include "cli/commands/flags.h"
#include "common/version.h"
#include "nlohmann/json.hpp"

namespace cairn::cli {

Command MakeVersionCommand() {
  auto flags = std::make_shared<CommonFlags>();
  Command command;
  command.name = "version";
  command.description = "Print the version, like cairn --version";
  command.examples = {"cairn version", "cairn version --json"};
  command.add_flags = [flags](FlagSet* set) { flags->AddJson(set); };
  command.run = [flags](const CommandContext& context) -> absl::StatusOr<int> {
    if (flags->json) {
      *context.out << nlohmann::json{{"version", kVersion}}.dump() << "\n";
    } else {
      *context.out << "cairn " << kVersion << "\n";
    }
    return kExitDone;
  };
  return command;
}

}  // namespace cairn::cli
