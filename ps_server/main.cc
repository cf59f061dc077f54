// ps_server: the daemon that stores a part of the variables.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cluster/address.h"
#include "cluster/daemon.h"
#include "cluster/daemon_flags.h"
#include "cluster/tf_config.h"
#include "common/flag_checks.h"
#include "common/logging.h"
#include "common/standard_files.h"
#include "common/status_macros.h"
#include "common/version.h"
#include "parameters/ps_task.h"

namespace cairn {
namespace {

using parameters::PsTask;
using parameters::PsTaskOptions;

constexpr char kProgram[] = "ps_server";

struct Flags {
  std::string tf_config;
  std::string coordinator;
  std::string state = "cairn-state";
  std::string log_level = "info";
  std::string log_file;
  int threads = 0;
  uint64_t gradient_memory = 1024;
  bool unsafe_disable_ledger = false;
  int64_t unsafe_pushed_bytes = int64_t{1} << 30;
};

void AddFlags(CLI::App& app, Flags& flags) {
  app.set_version_flag("--version", kVersion);
  app.add_option("--tf_config", flags.tf_config,
                 "File with TF_CONFIG; default: the environment variable TF_CONFIG");
  app.add_option("--coordinator", flags.coordinator,
                 "HOST:PORT of the coordinator; default: TF_CONFIG's chief")
      ->check(cluster::IsAddress());
  app.add_option("--state", flags.state, "State directory; snapshots are in STATE/ps-INDEX")
      ->capture_default_str()
      ->check(NotEmpty());
  app.add_option("--threads", flags.threads,
                 "Number of threads that own blocks; default: half of the cores")
      ->check(WholeNumber(1, 1024));
  app.add_option("--gradient_memory", flags.gradient_memory,
                 "MiB of buffered gradients of incomplete synchronous updates")
      ->capture_default_str()
      ->check(WholeNumber(0, 1 << 30));
  app.add_option("--log_level", flags.log_level, "debug, info, warning or error")
      ->capture_default_str();
  app.add_option("--log_file", flags.log_file, "Append the log to this file too");
  app.add_option(
         "--unsafe_pushed_bytes", flags.unsafe_pushed_bytes,
         "For tests: most bytes of gradients that no block has taken yet, of all connections; "
         "half of them of one")
      ->check(WholeNumber(0, int64_t{1} << 50));
  app.add_flag("--unsafe_disable_ledger", flags.unsafe_disable_ledger,
               "For tests: apply repeated pushes again, which corrupts every job");
}

absl::StatusOr<PsTaskOptions> MakeOptions(const Flags& flags) {
  const char* const environment = std::getenv("TF_CONFIG");
  CAIRN_ASSIGN_OR_RETURN(
      const cluster::TfConfig config,
      cluster::LoadTfConfig(flags.tf_config, environment != nullptr ? environment : ""));
  if (!config.task.has_value() || config.task->role != proto::PS) {
    return cluster::WrongTask(config, R"(ps_server needs {"type": "ps", "index": N})");
  }
  const absl::StatusOr<cluster::Address> coordinator =
      flags.coordinator.empty() ? config.chief : cluster::ParseAddress(flags.coordinator);
  if (!coordinator.ok()) return coordinator.status();
  const cluster::Address own = *config.OwnAddress();
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  PsTaskOptions options;
  options.index = config.task->index;
  options.bind_address = cluster::BindAddress(own);
  options.own_address = own.ToString();
  options.ps_addresses = config.PsAddresses();
  options.coordinator = coordinator->ToString();
  options.directory = absl::StrCat(flags.state, "/ps-", options.index);
  options.parent_directory = flags.state;
  options.owner_threads = flags.threads > 0 ? flags.threads : std::max(1, cores / 2);
  options.server_threads = std::max(2, cores / 4);
  options.gradient_memory = static_cast<int64_t>(flags.gradient_memory) << 20;
  options.pushed_bytes_max = flags.unsafe_pushed_bytes;
  options.unsafe_disable_ledger = flags.unsafe_disable_ledger;
  return options;
}

int Serve(const Flags& flags) {
  absl::StatusOr<PsTaskOptions> options = MakeOptions(flags);
  if (!options.ok()) return cluster::ReportFailure(kProgram, options.status());
  cluster::DaemonOptions daemon_options;
  daemon_options.program = kProgram;
  daemon_options.log_level = flags.log_level;
  daemon_options.log_file = flags.log_file;
  const auto daemon = cluster::Daemon::Start(daemon_options);
  if (!daemon.ok()) return cluster::ReportFailure(kProgram, daemon.status());
  options->on_refused = [&](const std::string& reason) {
    (*daemon)->Exit(cluster::kExitPermanent, reason);
  };
  options->on_stuck = [](const std::string& why) { cluster::ExitToRestart(why); };
  CAIRN_LOG_INFO("opening the snapshots", "directory", options->directory);
  const absl::StatusOr<std::unique_ptr<PsTask>> task = PsTask::Start(*options);
  if (!task.ok()) return cluster::ReportFailure(kProgram, task.status());
  cluster::WarnOfOpenPort(*cluster::ParseAddress(options->own_address));
  return (*daemon)->Run([&] { (*task)->Stop(); },
                        [&](absl::Duration waited) { return (*task)->IsNeeded(waited); });
}

int Main(int argc, char** argv) {
  OpenMissingStandardFiles();
  CLI::App app("Stores a part of the variables of the running job and applies gradients to them.",
               kProgram);
  Flags flags;
  AddFlags(app, flags);
  if (const auto exit_code = cluster::ParseDaemonFlags(&app, argc, argv)) return *exit_code;
  return Serve(flags);
}

}  // namespace
}  // namespace cairn

int main(int argc, char** argv) { return cairn::Main(argc, argv); }
