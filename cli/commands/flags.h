#ifndef CAIRN_CLI_COMMANDS_FLAGS_H_
#define CAIRN_CLI_COMMANDS_FLAGS_H_

#include <string>

#include "CLI/CLI.hpp"
#include "cli/commands/command.h"
#include "cli/find_cluster.h"

namespace cairn::cli {

// Flags that several commands have.
struct CommonFlags {
  std::string job;
  std::string coordinator;
  std::string state;
  bool json = false;

  ClusterChoice Choice(const CommandContext& context) const {
    ClusterChoice choice;
    choice.coordinator = coordinator;
    choice.state = state;
    choice.tf_config = context.tf_config;
    return choice;
  }
};

inline CLI::Option* AddJobArgument(CLI::App* command, CommonFlags* flags) {
  return command->add_option("JOB", flags->job, "A job's id, or its name (then the newest)");
}

inline void AddJsonFlag(CLI::App* command, CommonFlags* flags) {
  command->add_flag("--json", flags->json, "Print JSON, one object a line");
}

inline void AddClusterFlags(CLI::App* command, CommonFlags* flags) {
  auto* coordinator = command->add_option(
      "--coordinator", flags->coordinator,
      "HOST:PORT of the coordinator [TF_CONFIG's chief, or the cluster of ./cairn-state]");
  command
      ->add_option("--state", flags->state,
                   "The state directory of a cairn run, in place of the coordinator")
      ->excludes(coordinator);
}

}  // namespace cairn::cli

#endif  // CAIRN_CLI_COMMANDS_FLAGS_H_
