#include <memory>

#include "cli/commands/command.h"
#include "cli/commands/flags.h"
#include "common/version.h"
#include "nlohmann/json.hpp"

namespace cairn::cli {

void AddVersionCommand(CLI::App* app, Action* action) {
  CLI::App* command = app->add_subcommand("version", "Print Cairn's version");
  auto flags = std::make_shared<CommonFlags>();
  AddJsonFlag(command, flags.get());
  command->footer("Example:\n  cairn version");
  command->callback([flags, action] {
    *action = [flags](const CommandContext& context) -> absl::StatusOr<int> {
      if (flags->json) {
        *context.out << nlohmann::json{{"version", kVersion}}.dump() << "\n";
      } else {
        *context.out << "cairn " << kVersion << "\n";
      }
      return kExitDone;
    };
  });
}

}  // namespace cairn::cli
