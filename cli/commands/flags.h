#ifndef CAIRN_CLI_COMMANDS_FLAGS_H_
#define CAIRN_CLI_COMMANDS_FLAGS_H_

#include <string>

#include "cli/commands/command.h"
#include "cli/commands/flag_set.h"
#include "cli/find_cluster.h"
#include "cli/view/shell_word.h"

namespace cairn::cli {

// Flags that several commands have.
struct CommonFlags {
  std::string job;
  std::string coordinator;
  std::string state;
  bool json = false;

  void AddJob(FlagSet* set, bool is_required = true) {
    set->AddArgument("JOB", &job, is_required,
                     "Id of a job, or name of the newest job with this name");
  }

  void AddJson(FlagSet* set) { set->AddBool("--json", &json, "Print JSON, one object per line"); }

  void AddCluster(FlagSet* set) {
    set->AddString(
        "--coordinator HOST:PORT", &coordinator,
        "Address of the coordinator [TF_CONFIG's chief, or the cluster of ./cairn-state or of the "
        "last cairn up]");
    set->AddString("--state DIR", &state,
                   "State directory of cairn run or cairn up, instead of --coordinator");
    set->Exclude("--state", "--coordinator");
  }

  ClusterChoice Choice(const CommandContext& context) const {
    ClusterChoice choice;
    choice.coordinator = coordinator;
    choice.state = state;
    choice.tf_config = context.tf_config;
    choice.user_folder = context.user_folder;
    choice.err = context.err;
    return choice;
  }

  // `command` with the flags that select the same cluster.
  std::string Again(const std::string& command) const {
    return command + (state.empty() ? "" : " --state " + ShellWord(state)) +
           (coordinator.empty() ? "" : " --coordinator " + ShellWord(coordinator));
  }
};

}  // namespace cairn::cli

#endif  // CAIRN_CLI_COMMANDS_FLAGS_H_
