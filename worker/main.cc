#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cluster/control_server.h"
#include "cluster/daemon.h"
#include "cluster/daemon_flags.h"
#include "cluster/programs.h"
#include "cluster/tf_config.h"
#include "common/flag_checks.h"
#include "common/logging.h"
#include "common/printable.h"
#include "common/standard_files.h"
#include "common/status_macros.h"
#include "common/version.h"
#include "nn/create_device.h"
#include "nn/cuda/load_cuda_device.h"
#include "parameters/ps_task.h"
#include "worker/compute_threads.h"
#include "worker/coordinator_process.h"
#include "worker/data/remote/remote_files.h"
#include "worker/device_list.h"
#include "worker/offline_evaluation.h"
#include "worker/worker_task.h"

namespace {

using cairn::cluster::Daemon;
using cairn::nn::CreateDevice;
using cairn::parameters::PsTask;
using cairn::parameters::PsTaskOptions;
using cairn::worker::DeviceName;
using cairn::worker::WorkerTask;
using cairn::worker::WorkerTaskOptions;

struct Flags {
  std::string tf_config;
  std::string coordinator;
  std::vector<std::string> coordinator_flags;
  std::string state = "cairn-state";
  std::string log_level = "info";
  std::string log_file;
  std::string device = "auto";
  std::string evaluate;
  uint64_t max_evaluations = 0;
  int threads = 0;
  uint64_t data_memory = 1024;
  uint64_t gradient_memory = 1024;
  std::string spool = "/var/tmp";
  uint64_t data_cache = 65536;
};

// SIGTERM ends a worker within 2 s: up to 1 s for computing the current batch, and 1 s for the ps
// to acknowledge its gradients.
constexpr absl::Duration kStopGrace = absl::Seconds(1);
constexpr absl::Duration kStopTimeout = absl::Seconds(2);
// The coordinator of a cluster without chief may take a checkpoint before it ends.
constexpr absl::Duration kCoordinatorStop = absl::Seconds(30);

std::string IsFlagAndValue(const std::string& text) {
  const size_t name = text.find('=');
  if (text[0] != '-' && name != std::string::npos && name > 0) return "";
  return absl::StrCat("\"", cairn::PrintableLine(text),
                      "\" is not NAME=VALUE, such as rejoin_timeout=60");
}

void AddFlags(CLI::App* app, Flags* flags) {
  app->set_version_flag("--version", cairn::kVersion);
  app->add_option("--tf_config", flags->tf_config,
                  "File with TF_CONFIG; default: the environment variable TF_CONFIG");
  app->add_option("--coordinator", flags->coordinator,
                  "HOST:PORT of the coordinator, for a worker without an entry in TF_CONFIG")
      ->check(cairn::cluster::IsAddress());
  app->add_option("--coordinator_flag", flags->coordinator_flags,
                  "NAME=VALUE: a flag of the coordinator that worker 0 starts if TF_CONFIG has no "
                  "chief, such as rejoin_timeout=60; may be repeated. Other workers ignore it")
      ->check(IsFlagAndValue);
  app->add_option("--state", flags->state,
                  "State directory [cairn-state]. Without ps in TF_CONFIG the checkpoints of this "
                  "worker's parameters are in STATE/ps-INDEX; without chief, worker 0 has the "
                  "coordinator's files there. Other workers store nothing")
      ->check(cairn::NotEmpty());
  app->add_option("--log_level", flags->log_level, "debug, info, warning or error [info]");
  app->add_option("--log_file", flags->log_file, "Append the log to this file too");
  app->add_option(
      "--device", flags->device,
      "Devices that compute: auto (the first GPU, else the CPU), cpu, cuda, or a list such "
      "as cuda:0,cuda:1 or cpu:0,cpu:1, which compute batches at the same time [auto]");
  app->add_option("--evaluate", flags->evaluate,
                  "Run this task of cairn evaluate or predict without a cluster, then end");
  app->add_option("--max_evaluations", flags->max_evaluations,
                  "For a task of type evaluator: end with exit code 0 after so many evaluations, "
                  "when the next one begins, or when the job has ended. Default: evaluate all jobs")
      ->check(cairn::WholeNumber(1, 1 << 30));
  app->add_option(
         "--threads", flags->threads,
         "Number of CPU threads of each device. Default: the cores divided by the number of "
         "workers that TF_CONFIG has on this machine, and by the number of devices; 1 for a worker "
         "without an entry, and for synchronous jobs, so that their results have the same bits "
         "everywhere")
      ->check(cairn::WholeNumber(1, 1024));
  app->add_option(
         "--data_memory", flags->data_memory,
         "MiB of memory for the data of a job; the rest is read from the files when it is needed. "
         "Default 1024")
      ->check(cairn::WholeNumber(0, 1 << 30));
  app->add_option(
         "--gradient_memory", flags->gradient_memory,
         "MiB of memory for unacknowledged gradients of synchronous jobs; beyond it the ps buffer "
         "them. Without ps in TF_CONFIG, the worker buffers as much of others' gradients. Default "
         "1024")
      ->check(cairn::WholeNumber(0, 1 << 30));
  app->add_option("--spool", flags->spool,
                  "Folder for data beyond --data_memory that were unpacked or parsed (gzip, csv, "
                  "tfrecord, npz, parquet, text), and for images that a pipeline caches. Default "
                  "/var/tmp");
  app->add_option("--data_cache", flags->data_cache,
                  "MiB of the spool folder for copies of data files at http, https and s3 "
                  "addresses. Default 65536")
      ->check(cairn::WholeNumber(1, 1 << 30));
}

// The first of the environment variables that is set and not empty.
std::string Environment(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* const value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return "";
}

// Credentials come from the environment only: a job file is shown to others.
void ConfigureRemoteFiles(const Flags& flags) {
  cairn::worker::RemoteOptions options;
  options.folder = flags.spool;
  options.bytes_max = flags.data_cache << 20;
  options.access_key = Environment({"AWS_ACCESS_KEY_ID"});
  options.secret_key = Environment({"AWS_SECRET_ACCESS_KEY"});
  options.session_token = Environment({"AWS_SESSION_TOKEN"});
  const std::string region = Environment({"AWS_REGION", "AWS_DEFAULT_REGION"});
  if (!region.empty()) options.region = region;
  options.endpoint = Environment({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  options.ca_file = Environment({"CURL_CA_BUNDLE"});
  cairn::worker::RemoteFiles::Configure(std::move(options));
}

// What this process runs.
struct Plan {
  // Of the first worker.
  WorkerTaskOptions worker;
  // Each has a worker of its own.
  std::vector<DeviceName> devices;
  // TF_CONFIG has no ps: this process holds a part of the parameters.
  std::optional<PsTaskOptions> holder;
  // Where the worker answers health checks: its address in TF_CONFIG. Empty if TF_CONFIG does not
  // name it, or if the coordinator or the holder answers there.
  std::string health_address;
  // The worker starts the coordinator.
  bool is_chief = false;
};

// `cores`: of the machine.
PsTaskOptions HolderOptions(const Flags& flags, const Plan& plan,
                            const cairn::cluster::TfConfig& config, int cores) {
  cairn::cluster::Address own = *config.OwnAddress();
  // The coordinator has the port.
  if (plan.is_chief) own.port = 0;
  PsTaskOptions options;
  options.index = static_cast<uint32_t>(plan.worker.index);
  options.bind_address = cairn::cluster::BindAddress(own);
  options.own_address = own.ToString();
  options.ps_addresses = config.PsAddresses();
  options.coordinator = plan.worker.coordinator;
  options.directory = absl::StrCat(flags.state, "/ps-", options.index);
  options.parent_directory = flags.state;
  options.owner_threads = std::max(1, cores / 2);
  options.server_threads = std::max(2, cores / 4);
  options.gradient_memory = plan.worker.gradient_memory;
  options.watch_peers = true;
  return options;
}

absl::StatusOr<Plan> MakePlan(const Flags& flags) {
  Plan plan;
  CAIRN_ASSIGN_OR_RETURN(plan.devices, cairn::worker::ParseDeviceList(flags.device));
  WorkerTaskOptions& options = plan.worker;
  for (const DeviceName& device : plan.devices) options.devices.push_back(device.name);
  options.threads.said = flags.threads;
  options.storage.memory_bytes = flags.data_memory << 20;
  options.storage.spool_folder = flags.spool;
  options.gradient_memory = static_cast<int64_t>(flags.gradient_memory) << 20;
  options.max_evaluations = static_cast<int64_t>(flags.max_evaluations);
  const char* environment = std::getenv("TF_CONFIG");
  const auto config = cairn::cluster::LoadTfConfig(flags.tf_config, environment ? environment : "");
  if (!flags.coordinator.empty()) {
    CAIRN_ASSIGN_OR_RETURN(const cairn::cluster::Address coordinator,
                           cairn::cluster::ParseAddress(flags.coordinator));
    options.coordinator = coordinator.ToString();
    if (absl::IsNotFound(config.status())) return plan;
  }
  CAIRN_RETURN_IF_ERROR(config.status());
  if (options.coordinator.empty()) options.coordinator = config->chief.ToString();
  options.ps_addresses = config->PsAddresses();
  if (!config->task) return plan;
  if (config->task->role != cairn::proto::WORKER && config->task->role != cairn::proto::EVALUATOR) {
    return cairn::cluster::WrongTask(*config, R"(worker needs the type "worker" or "evaluator")");
  }
  options.role = config->task->role;
  options.index = config->task->index;
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  options.threads.share = std::max(
      1, cairn::worker::ShareOfCores(*config, cores) / static_cast<int>(plan.devices.size()));
  // With --coordinator the coordinator is elsewhere.
  plan.is_chief = config->IsChief() && flags.coordinator.empty();
  if (options.role == cairn::proto::WORKER && config->WorkersHoldParameters()) {
    plan.holder = HolderOptions(flags, plan, *config, cores);
  } else if (!plan.is_chief && config->OwnAddress()) {
    plan.health_address = cairn::cluster::BindAddress(*config->OwnAddress());
  }
  return plan;
}

// Makes OpenMP threads sleep while they wait for the next kernel. Spinning threads would take the
// cores from the ps and the other workers of the machine; that was measured to double the time of a
// step. libgomp reads the environment when it is loaded, so the program sets the variable and
// executes itself again.
void LetThreadsSleep(char** argv) {
  constexpr char kPolicy[] = "OMP_WAIT_POLICY";
  if (std::getenv(kPolicy) != nullptr) return;
  char program[PATH_MAX] = {};
  if (readlink("/proc/self/exe", program, sizeof program - 1) <= 0) return;
  setenv(kPolicy, "passive", /*overwrite=*/0);
  execv(program, argv);
  // If exec failed, the worker runs with the slower default.
}

absl::StatusOr<int> RunEvaluation(const Flags& flags) {
  CAIRN_ASSIGN_OR_RETURN(const auto device, CreateDevice(flags.device));
  CAIRN_RETURN_IF_ERROR(
      cairn::worker::RunEvaluationTask(flags.evaluate, std::max(1, flags.threads), device.get()));
  return 0;
}

// How to start the coordinator with the same TF_CONFIG, state and log.
absl::StatusOr<cairn::cluster::ChildOptions> CoordinatorCommand(const Flags& flags) {
  CAIRN_ASSIGN_OR_RETURN(const std::string folder, cairn::cluster::OwnFolder());
  CAIRN_ASSIGN_OR_RETURN(const std::string program,
                         cairn::cluster::FindProgram(folder, "coordinator"));
  cairn::cluster::ChildOptions options;
  options.command = {program, "--state", flags.state, "--log_level", flags.log_level};
  for (const auto& [flag, value] :
       {std::pair("--tf_config", flags.tf_config), std::pair("--log_file", flags.log_file)}) {
    if (!value.empty()) options.command.insert(options.command.end(), {flag, value});
  }
  for (const std::string& flag : flags.coordinator_flags) {
    options.command.push_back(absl::StrCat("--", flag));
  }
  for (char** variable = environ; *variable != nullptr; ++variable) {
    options.environment.push_back(*variable);
  }
  return options;
}

// The name in job files of the device that "auto" has chosen. Logs why it is no GPU.
std::string NameOfAuto(const cairn::nn::Device& device) {
  if (!device.memory_is_host()) return "cuda:0";
  const absl::Status driver = cairn::nn::FindCudaDriver();
  CAIRN_LOG_INFO("computing on the CPU", "why",
                 driver.ok() ? CreateDevice("cuda").status() : driver);
  return "cpu:0";
}

// The tasks of this process: a worker for each device, and possibly the holder of a part of the
// parameters.
class Tasks {
 public:
  using OnRejected = cairn::worker::WorkerTask::OnRejected;

  static absl::StatusOr<std::unique_ptr<Tasks>> Start(const Plan& plan,
                                                      const OnRejected& on_rejected) {
    auto tasks = std::make_unique<Tasks>();
    if (plan.holder) {
      PsTaskOptions holder = *plan.holder;
      holder.on_refused = on_rejected;
      holder.on_stuck = [](const std::string& why) { cairn::cluster::ExitToRestart(why); };
      CAIRN_ASSIGN_OR_RETURN(tasks->holder_, PsTask::Start(holder));
    }
    for (const DeviceName& device : plan.devices) {
      CAIRN_ASSIGN_OR_RETURN(tasks->devices_.emplace_back(), CreateDevice(device.kind));
    }
    WorkerTaskOptions options = plan.worker;
    if (tasks->holder_ != nullptr) {
      options.own_ps = {static_cast<int>(plan.holder->index), tasks->holder_->server()};
    }
    if (plan.devices[0].kind == "auto") options.devices = {NameOfAuto(*tasks->devices_[0])};
    for (const auto& device : tasks->devices_) {
      const size_t own = tasks->workers_.size();
      if (plan.devices.size() > 1) {
        options.device_name = plan.devices[own].name;
        std::swap(options.devices[0], options.devices[own]);
      }
      tasks->workers_.push_back(std::make_unique<WorkerTask>(options, device.get(), on_rejected));
      // The coordinator numbers the others after those that TF_CONFIG names. An evaluator has one
      // device.
      if (options.role != cairn::proto::WORKER) break;
      options.index = -1;
      options.devices = plan.worker.devices;
    }
    return tasks;
  }

  void Stop() {
    std::vector<std::thread> stops;
    for (const auto& worker : workers_) {
      stops.emplace_back([&worker] { worker->Stop(kStopGrace); });
    }
    for (std::thread& stop : stops) stop.join();
    // Last: the workers push to it until they have stopped.
    if (holder_ != nullptr) holder_->Stop();
  }

  bool IsNeeded(absl::Duration waited) {
    bool is_needed = holder_ != nullptr && holder_->IsNeeded(waited);
    for (const auto& worker : workers_) is_needed |= worker->IsNeeded(waited);
    return is_needed;
  }

 private:
  std::unique_ptr<PsTask> holder_;
  std::vector<std::unique_ptr<cairn::nn::Device>> devices_;
  std::vector<std::unique_ptr<WorkerTask>> workers_;
};

absl::StatusOr<int> RunWorker(const Flags& flags) {
  CAIRN_ASSIGN_OR_RETURN(Plan plan, MakePlan(flags));
  if (flags.max_evaluations > 0 && plan.worker.role != cairn::proto::EVALUATOR) {
    return absl::InvalidArgumentError(
        "--max_evaluations is for a task whose type in TF_CONFIG is \"evaluator\"");
  }
  cairn::cluster::DaemonOptions daemon_options;
  daemon_options.program = "worker";
  daemon_options.log_level = flags.log_level;
  daemon_options.log_file = flags.log_file;
  daemon_options.stop_timeout = kStopTimeout;
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<Daemon> daemon, Daemon::Start(daemon_options));
  std::unique_ptr<cairn::cluster::ControlServer> health;
  if (!plan.health_address.empty()) {
    CAIRN_ASSIGN_OR_RETURN(health, cairn::cluster::ControlServer::Start(plan.health_address, {}));
  }
  const auto exit_for_good = [&daemon](const std::string& reason) {
    daemon->Exit(cairn::cluster::kExitPermanent, reason);
  };
  plan.worker.on_device_lost = [&daemon](const std::string& why) {
    daemon->Exit(cairn::cluster::kExitRestart, why);
  };
  plan.worker.on_done = [&daemon](const std::string& why) { daemon->Exit(0, why); };
  std::optional<cairn::worker::CoordinatorProcess> coordinator;
  if (plan.is_chief) {
    CAIRN_ASSIGN_OR_RETURN(cairn::cluster::ChildOptions command, CoordinatorCommand(flags));
    coordinator.emplace(std::move(command), exit_for_good);
  }
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<Tasks> tasks, Tasks::Start(plan, exit_for_good));
  const int exit_code = daemon->Run([&tasks] { tasks->Stop(); },
                                    [&](absl::Duration waited) {
                                      // It takes the last checkpoint while the worker waits.
                                      if (coordinator) coordinator->Stop();
                                      return tasks->IsNeeded(waited);
                                    });
  if (coordinator) {
    coordinator->Stop();
    coordinator->Wait(kCoordinatorStop);
  }
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  cairn::OpenMissingStandardFiles();
  LetThreadsSleep(argv);
  CLI::App app(
      "Computes forward and backward passes and pushes gradients to the parameter servers, or to "
      "the "
      "other workers if there are none.",
      "worker");
  Flags flags;
  AddFlags(&app, &flags);
  if (const auto exit_code = cairn::cluster::ParseDaemonFlags(&app, argc, argv)) return *exit_code;
  ConfigureRemoteFiles(flags);
  const absl::StatusOr<int> code = flags.evaluate.empty() ? RunWorker(flags) : RunEvaluation(flags);
  if (!code.ok()) return cairn::cluster::ReportFailure("worker", code.status());
  return *code;
}
