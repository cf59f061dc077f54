#include <memory>

#include "cli/commands/command.h"
#include "cli/commands/command_table.h"
#include "cli/commands/flag_set.h"
#include "cli/help/completion.h"
#include "common/status_macros.h"
#include "nlohmann/json.hpp"

namespace cairn::cli {
namespace {

struct CompletionFlags {
  std::string shell;
  bool json = false;
};

absl::StatusOr<int> PrintScript(const CompletionFlags& flags, const CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const std::string script, CompletionScript(flags.shell, AllCommands()));
  if (flags.json) {
    *context.out << nlohmann::ordered_json{{"shell", flags.shell}, {"script", script}}.dump()
                 << "\n";
  } else {
    *context.out << script;
  }
  return kExitDone;
}

}  // namespace

Command MakeCompletionCommand() {
  auto flags = std::make_shared<CompletionFlags>();
  Command command;
  command.name = "completion";
  command.description = "Print a script for the completion of commands and flags in a shell";
  command.examples = {"source <(cairn completion bash)", "cairn completion zsh > ~/.zfunc/_cairn",
                      "cairn completion fish > ~/.config/fish/completions/cairn.fish"};
  command.add_flags = [flags](FlagSet* set) {
    set->AddArgument("SHELL", &flags->shell, /*is_required=*/true, "bash, zsh or fish");
    set->AddBool("--json", &flags->json, "Print the script as JSON, in one line");
  };
  command.run = [flags](const CommandContext& context) { return PrintScript(*flags, context); };
  return command;
}

}  // namespace cairn::cli
