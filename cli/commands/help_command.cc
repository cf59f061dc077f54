#include <memory>

#include "absl/strings/str_cat.h"
#include "cli/commands/command.h"
#include "cli/commands/command_table.h"
#include "cli/commands/flag_set.h"
#include "cli/files.h"
#include "cli/help/help_text.h"
#include "cli/help/man_page.h"
#include "common/nearest_name.h"
#include "common/status_macros.h"
#include "nlohmann/json.hpp"

namespace cairn::cli {
namespace {

struct HelpFlags {
  std::string topic;
  std::string man_folder;
  bool json = false;
};

nlohmann::ordered_json FlagJson(const Flag& flag) {
  return {{"name", flag.name},
          {"value", flag.value},
          {"help", flag.help},
          {"argument", flag.is_argument},
          {"required", flag.is_required},
          {"repeated", flag.is_repeated}};
}

nlohmann::ordered_json CommandJson(const Command& command) {
  nlohmann::ordered_json line = {{"command", command.name},
                                 {"usage", UsageOf(command)},
                                 {"description", command.description},
                                 {"details", command.details},
                                 {"examples", command.examples}};
  line["flags"] = nlohmann::ordered_json::array();
  for (const Flag& flag : FlagsOf(command)) line["flags"].push_back(FlagJson(flag));
  return line;
}

absl::Status WriteManPages(const std::vector<CommandGroup>& groups, const std::string& folder) {
  for (const CommandGroup& group : groups) {
    for (const Command& command : group.commands) {
      CAIRN_RETURN_IF_ERROR(
          WriteFile(absl::StrCat(folder, "/cairn-", command.name, ".1"), ManPage(command)));
    }
  }
  return WriteFile(folder + "/cairn.1", ManOverview(groups));
}

absl::StatusOr<int> Explain(const HelpFlags& flags, const CommandContext& context) {
  const std::vector<CommandGroup> groups = AllCommands();
  if (!flags.man_folder.empty()) {
    CAIRN_RETURN_IF_ERROR(WriteManPages(groups, flags.man_folder));
    const std::string file = flags.man_folder + "/cairn.1";
    if (flags.json) {
      *context.out << nlohmann::ordered_json{{"man", file}}.dump() << "\n";
    } else {
      *context.out << "wrote " << file << " and a page for each command\n";
    }
    return kExitDone;
  }
  if (flags.topic.empty() && !flags.json) {
    *context.out << OverviewText(groups);
    return kExitDone;
  }
  std::vector<std::string> names;
  for (const CommandGroup& group : groups) {
    for (const Command& command : group.commands) {
      names.push_back(command.name);
      if (!flags.topic.empty() && flags.topic != command.name) continue;
      *context.out << (flags.json ? CommandJson(command).dump() + "\n" : HelpText(command));
      if (!flags.topic.empty()) return kExitDone;
    }
  }
  if (flags.topic.empty()) return kExitDone;
  return absl::InvalidArgumentError(absl::StrCat(
      "there is no command ", flags.topic, DidYouMean(flags.topic, names), "; see cairn --help"));
}

}  // namespace

// `cairn help COMMAND` is the same as `cairn COMMAND --help`.
Command MakeHelpCommand() {
  auto flags = std::make_shared<HelpFlags>();
  Command command;
  command.name = "help";
  command.description = "Print the help of cairn or of one command";
  command.examples = {"cairn help run", "cairn help --man /usr/local/share/man/man1"};
  command.add_flags = [flags](FlagSet* set) {
    set->AddArgument("COMMAND", &flags->topic, /*is_required=*/false, "The command");
    set->AddString("--man DIR", &flags->man_folder,
                   "Write the help as manual pages cairn.1 and cairn-COMMAND.1 to this folder");
    set->AddBool("--json", &flags->json, "Print JSON, one command per line");
  };
  command.run = [flags](const CommandContext& context) { return Explain(*flags, context); };
  return command;
}

}  // namespace cairn::cli
