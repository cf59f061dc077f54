// Measures a coordinator process with many tasks: CPU, memory, the time of a lease, a checkpoint,
// and how long it takes until all have joined again after the coordinator was killed. The tasks are
// sessions of this program with real gRPC streams: workers that compute nothing, and ps without
// values whose ledgers contain what the workers have applied. Prints rows for results.py.
//
// Usage: scale COORDINATOR WORKERS PS VARIABLES SECONDS [BATCHES_PER_SECOND_EACH=4] [sync]
//
// COORDINATOR is the program. The plan has about 100 bytes for each variable. Workers start the job
// in waves of 16, because each receives the plan, and this process would have to buffer all of
// them. A lease is measured by workers that ask for one batch whenever they have none: from the
// report to the lease. This program uses more of the CPU than the coordinator that it measures.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "tests/benchmarks/coordinator_process.h"
#include "tests/benchmarks/leasing_worker.h"
#include "tests/benchmarks/light_ps.h"
#include "tests/benchmarks/result_row.h"
#include "tests/common/free_port.h"
#include "tests/end_to_end/process.h"

namespace cairn::benchmarks {
namespace {

constexpr char kJob[] = "scale";
constexpr int64_t kBatches = int64_t{1} << 40;
constexpr int kWave = 16;
constexpr int kProbes = 10;
constexpr absl::Duration kWarmUp = absl::Seconds(3);
constexpr absl::Duration kAfterRejoin = absl::Seconds(3);
// The goals.
constexpr double kRejoinSecondsMax = 10;
constexpr double kMebibytesMax = 1024;

struct Setup {
  std::string coordinator;
  int workers = 0;
  int ps = 0;
  int variables = 0;
  absl::Duration duration;
  double batches_per_second = 4;
  bool synchronous = false;
};

void SetNumber(google::protobuf::Struct* config, const char* name, double value) {
  (*config->mutable_fields())[name].set_number_value(value);
}

// A chain of dense layers of one unit: two variables each.
proto::ModelSpec ChainOf(int variables) {
  proto::ModelSpec model;
  model.set_name("chain");
  proto::LayerSpec* layer = model.add_layers();
  layer->set_name("in");
  layer->set_class_name("InputLayer");
  google::protobuf::ListValue* shape =
      (*layer->mutable_config()->mutable_fields())["batch_shape"].mutable_list_value();
  shape->add_values()->set_null_value(google::protobuf::NULL_VALUE);
  shape->add_values()->set_number_value(1);
  for (int i = 0; i < std::max(1, variables / 2); ++i) {
    const std::string before = layer->name();
    layer = model.add_layers();
    layer->set_name(absl::StrCat(
        "a_block_of_the_network/a_dense_layer_with_a_name_of_more_than_usual_length_", i));
    layer->set_class_name("Dense");
    SetNumber(layer->mutable_config(), "units", 1);
    layer->add_inputs(before);
  }
  model.add_inputs("in");
  model.add_outputs(layer->name());
  return model;
}

// The coordinator, which can be killed and started again.
class Coordinator {
 public:
  explicit Coordinator(const Setup& setup)
      : folder_(std::filesystem::temp_directory_path() / absl::StrCat("cairn-scale-", getpid())),
        address_(absl::StrCat("127.0.0.1:", testing::FreePort())) {
    std::filesystem::create_directories(folder_);
    std::vector<std::string> ps;
    for (int i = 0; i < setup.ps; ++i) ps.push_back(absl::StrCat("\"127.0.0.1:", 1 + i, "\""));
    options_.arguments = {setup.coordinator, "--state", folder_ / "state", "--log_level", "error"};
    options_.environment["TF_CONFIG"] =
        absl::StrCat(R"({"cluster": {"chief": [")", address_, R"("], "ps": [)",
                     absl::StrJoin(ps, ", "), R"(]}, "task": {"type": "chief", "index": 0}})");
    Start();
  }
  ~Coordinator() {
    process_.Kill();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  void Start() { process_ = testing::Process(options_); }
  void Kill() { process_.Kill(); }
  int64_t pid() const { return process_.pid(); }
  const std::string& address() const { return address_; }

 private:
  const std::filesystem::path folder_;
  const std::string address_;
  testing::Process::Options options_;
  testing::Process process_;
};

double Quantile(std::vector<double> sorted, double q) {
  if (sorted.empty()) return 0;
  return sorted[static_cast<size_t>(q * static_cast<double>(sorted.size() - 1))];
}

// The cluster of this process.
class Tasks {
 public:
  explicit Tasks(const Setup& setup, const std::string& address)
      : setup_(setup), address_(address) {
    for (int i = 0; i < setup.ps; ++i) {
      ps_.push_back(std::make_unique<LightPs>(address, i, &ledger_));
    }
    workers_.reserve(setup.workers);
    ticker_ = std::make_unique<Ticker>([this] { Tick(); });
  }

  void AddWorkers(int count) {
    for (int i = 0; i < count; ++i) {
      LeasingWorker::Options options;
      options.examples = kBatches;
      options.batches_per_second = setup_.batches_per_second;
      options.one_by_one = static_cast<int>(workers_.size()) < kProbes && setup_.workers > kProbes;
      options.apply = [this](int64_t batch) { ledger_.Apply(batch); };
      auto worker = std::make_unique<LeasingWorker>(address_, std::move(options));
      MutexLock lock(&mutex_);
      workers_.push_back(std::move(worker));
    }
  }

  bool AllPsJoined() {
    return std::all_of(ps_.begin(), ps_.end(), [](auto& ps) { return ps->joined(); });
  }
  bool AllJoined() {
    return AllPsJoined() && std::all_of(workers_.begin(), workers_.end(),
                                        [](auto& worker) { return worker->joined(); });
  }
  int Started() {
    return static_cast<int>(std::count_if(workers_.begin(), workers_.end(),
                                          [](auto& worker) { return worker->started(); }));
  }
  int LeasesLost() {
    int lost = 0;
    for (auto& worker : workers_) lost += worker->leases_lost();
    return lost;
  }
  int Breaks() {
    int breaks = 0;
    for (auto& worker : workers_) breaks += worker->breaks();
    return breaks;
  }
  std::vector<double> TakeLeaseTimes() {
    std::vector<double> times;
    for (auto& worker : workers_) {
      for (const double time : worker->TakeLeaseTimes()) times.push_back(time);
    }
    std::sort(times.begin(), times.end());
    return times;
  }
  SharedLedger& ledger() { return ledger_; }

 private:
  void Tick() {
    for (auto& ps : ps_) ps->Tick();
    size_t count = 0;
    {
      MutexLock lock(&mutex_);
      count = workers_.size();
    }
    // Only grows, within its capacity.
    for (size_t i = 0; i < count; ++i) workers_[i]->Tick();
  }

  const Setup& setup_;
  const std::string address_;
  SharedLedger ledger_;
  std::vector<std::unique_ptr<LightPs>> ps_;
  Mutex mutex_;
  std::vector<std::unique_ptr<LeasingWorker>> workers_;
  std::unique_ptr<Ticker> ticker_;  // Last: ticks all of the above.
};

double SecondsSince(absl::Time begin) { return absl::ToDoubleSeconds(absl::Now() - begin); }

void Print(const std::string& who, const std::string& what, double value, const std::string& unit,
           std::optional<double> at_most, const std::string& note = "") {
  PrintRow({.name = absl::StrCat(who, ": ", what),
            .value = value,
            .unit = unit,
            .at_most = at_most,
            .note = note});
}

// Kills the coordinator and measures how long the cluster needs to continue, and what is lost.
void KillCoordinator(const std::string& who, Coordinator* coordinator, Client* client,
                     Tasks* tasks) {
  const int64_t duplicates = tasks->ledger().duplicates();
  proto::ClusterStatus cluster;
  const absl::Time begin = absl::Now();
  coordinator->Kill();
  coordinator->Start();
  WaitUntil("the coordinator serves again", [&] { return client->GetCluster(&cluster); });
  const double serves = SecondsSince(begin);
  WaitUntil("all have joined again", [&] { return tasks->AllJoined(); });
  Print(who, "kill -9 until all are back", SecondsSince(begin), "s", kRejoinSecondsMax,
        absl::StrCat("it serves after ", static_cast<int>(serves * 1000), " ms"));
  const int64_t before = client->BatchesDone(kJob);
  WaitUntil("batches are done again", [&] { return client->BatchesDone(kJob) > before; });
  Print(who, "kill -9 until a batch is done", SecondsSince(begin), "s", {});
  absl::SleepFor(kAfterRejoin);
  Print(who, "workers that lost their leases", tasks->LeasesLost(), "workers", 0);
  Print(who, "batches computed twice",
        static_cast<double>(tasks->ledger().duplicates() - duplicates), "batches", 0);
  Print(who, "most memory after the restart", PeakMebibytes(coordinator->pid()), "MiB",
        kMebibytesMax);
}

void Run(const Setup& setup) {
  const std::string who = absl::StrCat(setup.workers, " workers, ", setup.ps, " ps",
                                       setup.synchronous ? ", synchronous" : "");
  Coordinator coordinator(setup);
  Client client(coordinator.address());
  proto::ClusterStatus cluster;
  WaitUntil("the coordinator serves", [&] { return client.GetCluster(&cluster); });
  Tasks tasks(setup, coordinator.address());
  tasks.AddWorkers(1);
  WaitUntil("all ps have joined", [&] { return tasks.AllJoined(); });

  proto::Job job;
  job.mutable_checkpoint()->set_copies(1);
  if (setup.synchronous) {
    auto* strategy = job.mutable_strategy()->mutable_parameter_server();
    strategy->set_mode("sync");
    strategy->set_batches_per_update(setup.workers);
  }
  const proto::ModelSpec model = ChainOf(setup.variables);
  absl::Time begin = absl::Now();
  client.Submit(kJob, job, model);
  WaitUntil("a worker has started", [&] { return tasks.Started() == 1; });
  const double first = SecondsSince(begin);
  for (int added = 1; added < setup.workers;) {
    const int wave = std::min(kWave, setup.workers - added);
    tasks.AddWorkers(wave);
    added += wave;
    WaitUntil("a wave of workers has started", [&] { return tasks.Started() == added; });
  }
  Print(who, "all have started", SecondsSince(begin), "s", {},
        absl::StrCat("the first after ", static_cast<int>(first * 1000), " ms; model of ",
                     model.ByteSizeLong() >> 10, " KiB"));
  WaitUntil("batches are done", [&] { return client.BatchesDone(kJob) > setup.workers; });
  absl::SleepFor(kWarmUp);

  const int breaks_before = tasks.Breaks();
  tasks.TakeLeaseTimes();
  const double cpu = CpuSeconds(coordinator.pid());
  const int64_t done = client.BatchesDone(kJob);
  begin = absl::Now();
  absl::SleepFor(setup.duration);
  const double elapsed = SecondsSince(begin);
  Print(who, "batches", static_cast<double>(client.BatchesDone(kJob) - done) / elapsed, "batches/s",
        {});
  Print(who, "CPU of the coordinator", 100 * (CpuSeconds(coordinator.pid()) - cpu) / elapsed,
        "% of a core", {});
  const std::vector<double> leases = tasks.TakeLeaseTimes();
  Print(who, "a lease, p50", 1000 * Quantile(leases, 0.5), "ms", {});
  Print(who, "a lease, p99", 1000 * Quantile(leases, 0.99), "ms", {},
        absl::StrCat(leases.size(), " leases"));

  begin = absl::Now();
  client.TakeCheckpoint(kJob);
  Print(who, "a checkpoint", SecondsSince(begin), "s", {});
  Print(who, "streams broken", tasks.Breaks() - breaks_before, "streams", 0);
  Print(who, "most memory", PeakMebibytes(coordinator.pid()), "MiB", kMebibytesMax);

  KillCoordinator(who, &coordinator, &client, &tasks);
}

}  // namespace
}  // namespace cairn::benchmarks

int main(int argc, char** argv) {
  if (argc < 6) {
    std::fprintf(stderr, "usage: scale COORDINATOR WORKERS PS VARIABLES SECONDS [SPEED] [sync]\n");
    return 2;
  }
  cairn::benchmarks::Setup setup;
  setup.coordinator = argv[1];
  setup.workers = std::atoi(argv[2]);
  setup.ps = std::atoi(argv[3]);
  setup.variables = std::atoi(argv[4]);
  setup.duration = absl::Seconds(std::atof(argv[5]));
  if (argc > 6) setup.batches_per_second = std::atof(argv[6]);
  setup.synchronous = argc > 7;
  cairn::benchmarks::Run(setup);
  return 0;
}
