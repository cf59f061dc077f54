// coordinator: the daemon that accepts jobs, leases batches and recovers the cluster from failures.

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cluster/address.h"
#include "cluster/control_server.h"
#include "cluster/daemon.h"
#include "cluster/daemon_flags.h"
#include "cluster/tf_config.h"
#include "common/clock.h"
#include "common/flag_checks.h"
#include "common/logging.h"
#include "common/standard_files.h"
#include "common/status_macros.h"
#include "common/version.h"
#include "coordinator/control_loop.h"
#include "coordinator/coordinator_service.h"
#include "coordinator/last_checkpoint.h"
#include "coordinator/session_registry.h"
#include "storage/journal.h"

namespace cairn::coordinator {
namespace {

constexpr char kProgram[] = "coordinator";

struct Flags {
  std::string tf_config;
  std::string state = "cairn-state";
  std::string log_level = "info";
  std::string log_file;
  double lease_seconds = 10;
  double stop_seconds = 20;
  double progress_timeout = 60;
  double rejoin_timeout = 10;
};

void AddFlags(CLI::App& app, Flags& flags) {
  app.set_version_flag("--version", kVersion);
  app.add_option("--tf_config", flags.tf_config,
                 "File with TF_CONFIG; default: the environment variable TF_CONFIG");
  app.add_option("--state", flags.state, "State directory; the journal is in STATE/coordinator")
      ->capture_default_str()
      ->check(NotEmpty());
  app.add_option("--lease_seconds", flags.lease_seconds,
                 "Seconds without a message after which a task counts as lost")
      ->capture_default_str()
      ->check(Number(2, 3600));
  app.add_option("--stop_seconds", flags.stop_seconds,
                 "Seconds allowed for the checkpoint after SIGTERM or SIGINT; 0: no checkpoint")
      ->capture_default_str()
      ->check(Number(0, 3600));
  app.add_option(
         "--progress_timeout", flags.progress_timeout,
         "Seconds without progress after which the work of a live worker goes to others, and "
         "the checkpoint of a live ps is given up")
      ->capture_default_str()
      ->check(Number(1, 86400));
  app.add_option(
         "--rejoin_timeout", flags.rejoin_timeout,
         "Seconds after which the parameters of a worker that was not heard, and whose lease "
         "is over, move to the other workers, in a cluster without ps")
      ->capture_default_str()
      ->check(Number(0, 604800));
  app.add_option("--log_level", flags.log_level, "debug, info, warning or error")
      ->capture_default_str();
  app.add_option("--log_file", flags.log_file, "Append the log to this file too");
}

absl::StatusOr<cluster::TfConfig> LoadConfig(const Flags& flags) {
  const char* const environment = std::getenv("TF_CONFIG");
  CAIRN_ASSIGN_OR_RETURN(
      cluster::TfConfig config,
      cluster::LoadTfConfig(flags.tf_config, environment != nullptr ? environment : ""));
  if (!config.IsChief()) {
    return cluster::WrongTask(config, R"(coordinator needs {"type": "chief", "index": 0})");
  }
  return config;
}

Scheduler::Options MakeSchedulerOptions(const cluster::TfConfig& config, const Flags& flags) {
  Scheduler::Options options;
  options.membership.version = kVersion;
  options.membership.ps_addresses = config.PsAddresses();
  options.membership.workers_hold_parameters = config.WorkersHoldParameters();
  options.membership.lease = absl::Seconds(flags.lease_seconds);
  options.membership.progress_timeout = absl::Seconds(flags.progress_timeout);
  options.membership.rejoin_timeout = absl::Seconds(flags.rejoin_timeout);
  for (const auto& [index, address] : config.workers) {
    options.membership.named_workers.insert(index);
  }
  for (const auto& [index, address] : config.evaluators) {
    options.membership.named_evaluators.insert(index);
  }
  std::random_device random;
  options.new_cluster_id = (uint64_t{random()} << 32 | random()) | 1;
  return options;
}

// Serves until the daemon is asked to end.
absl::StatusOr<int> Serve(const cluster::TfConfig& config, const Flags& flags,
                          cluster::Daemon* daemon) {
  const std::string directory = absl::StrCat(flags.state, "/coordinator");
  CAIRN_LOG_INFO("opening the journal", "directory", directory);
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<storage::Journal> journal,
                         storage::Journal::Open(directory));
  const RealClock clock;
  SessionRegistry sessions;
  ControlLoop::Options options;
  options.scheduler = MakeSchedulerOptions(config, flags);
  options.journal = journal.get();
  options.clock = &clock;
  options.sessions = &sessions;
  options.stall_timeout = absl::Seconds(flags.progress_timeout);
  options.on_failure = [daemon](const absl::Status& status) {
    daemon->Exit(cluster::kExitRestart, std::string(status.message()));
  };
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<ControlLoop> loop,
                         ControlLoop::Start(std::move(options)));
  CoordinatorService::Options service_options;
  service_options.version = kVersion;
  service_options.ps_count = static_cast<int>(config.PsAddresses().size());
  service_options.cluster = {.has_ps = !config.WorkersHoldParameters(),
                             .workers = static_cast<int64_t>(config.workers.size())};
  service_options.address = config.OwnAddress()->ToString();
  CoordinatorService service(service_options, loop.get(), &sessions, journal.get());
  CAIRN_ASSIGN_OR_RETURN(
      const std::unique_ptr<cluster::ControlServer> server,
      cluster::ControlServer::Start(cluster::BindAddress(*config.OwnAddress()), {&service}));
  CAIRN_LOG_INFO("serving", "port", server->port(), "ps", config.ps.size(), "state", flags.state);
  cluster::WarnOfOpenPort(*config.OwnAddress());
  LastCheckpoint last_checkpoint(loop.get(), absl::Seconds(flags.stop_seconds));
  return daemon->Run([&] { server->Shutdown(); },
                     [&](absl::Duration waited) { return last_checkpoint.IsNeeded(waited); });
}

int Start(const Flags& flags) {
  const absl::StatusOr<cluster::TfConfig> config = LoadConfig(flags);
  if (!config.ok()) return cluster::ReportFailure(kProgram, config.status());
  cluster::DaemonOptions options;
  options.program = kProgram;
  options.log_level = flags.log_level;
  options.log_file = flags.log_file;
  // Every decision is in the journal already. If its disk hangs, the loop never ends.
  options.stop_timeout = absl::Seconds(4);
  const auto daemon = cluster::Daemon::Start(options);
  if (!daemon.ok()) return cluster::ReportFailure(kProgram, daemon.status());
  const absl::StatusOr<int> exit_code = Serve(*config, flags, daemon->get());
  return exit_code.ok() ? *exit_code : cluster::ReportFailure(kProgram, exit_code.status());
}

int Main(int argc, char** argv) {
  OpenMissingStandardFiles();
  CLI::App app("Accepts jobs, assigns their batches to workers and recovers from failures.",
               kProgram);
  Flags flags;
  AddFlags(app, flags);
  if (const auto exit_code = cluster::ParseDaemonFlags(&app, argc, argv)) return *exit_code;
  return Start(flags);
}

}  // namespace
}  // namespace cairn::coordinator

int main(int argc, char** argv) { return cairn::coordinator::Main(argc, argv); }
