// Measures how many batches per second a coordinator leases and receives reports for. The
// coordinator is a real process, connected by gRPC; the workers follow the lease protocol and
// compute nothing. Prints rows for results.py.
//
// Usage: dispatch COORDINATOR_ADDRESS WORKERS SECONDS [BATCHES_PER_SECOND_EACH=0]
//
// The coordinator must be new, in a cluster of 1 ps, started with
// TF_CONFIG={"cluster": {"chief": [COORDINATOR_ADDRESS], "ps": ["127.0.0.1:1"]}, ...}.
// A batch counts when the coordinator reports it as done: leased, reported and in the journal. With
// 0, batches take no time, so the coordinator or the machine is the limit: all processes share its
// cores, and a thousand workers take more time than their coordinator. The floor is the capacity of
// plain gRPC streams: 27,000 messages per second in each direction with one in flight to each of 4
// processes (callbacks are slower than completion queues), and one message may lease and report
// many batches. Batches per second of the coordinator's CPU time are printed too: its capacity on a
// core of its own.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/check.h"
#include "google/protobuf/util/json_util.h"
#include "tests/benchmarks/coordinator_process.h"
#include "tests/benchmarks/leasing_worker.h"
#include "tests/benchmarks/result_row.h"
#include "tests/coordinator/live_task.h"
#include "tests/coordinator/simulated_ps.h"

namespace cairn::benchmarks {
namespace {

// One epoch of one-example batches, too many for any run to complete.
constexpr int64_t kBatches = int64_t{1} << 40;
constexpr char kJob[] = "dispatch";
constexpr double kBar = 20000;  // Batches per second.
constexpr absl::Duration kWarmUp = absl::Seconds(3);

constexpr char kModel[] = R"({
  "name": "one weight", "inputs": ["in"], "outputs": ["out"],
  "layers": [{"name": "in", "class_name": "InputLayer", "config": {"batch_shape": [null, 1]}},
             {"name": "out", "class_name": "Dense", "config": {"units": 1, "use_bias": false},
              "inputs": ["in"]}]})";

struct Measured {
  double batches_per_second = 0;
  double per_cpu_second = 0;
};

Measured Measure(Client* client, int64_t pid, absl::Duration duration) {
  const int64_t first = client->BatchesDone(kJob);
  const double cpu = CpuSeconds(pid);
  const absl::Time begin = absl::Now();
  absl::SleepFor(duration);
  const auto done = static_cast<double>(client->BatchesDone(kJob) - first);
  const double used = CpuSeconds(pid) - cpu;
  return {done / absl::ToDoubleSeconds(absl::Now() - begin), done / used};
}

// A ps that joins and does nothing.
std::unique_ptr<coordinator::LiveTask> MakePs(const std::string& coordinator_address,
                                              coordinator::SimulatedPs* ps, Mutex* mutex) {
  ps->Restart(1);
  coordinator::LiveTask::Behaviour behaviour;
  behaviour.make_join = [ps] { return ps->MakeJoin(); };
  behaviour.handle = [ps](const proto::Command& command, std::vector<proto::TaskMessage>* answers) {
    proto::TaskMessage answer;
    if (ps->Handle(command, /*disk_fails=*/false, &answer)) answers->push_back(answer);
  };
  return std::make_unique<coordinator::LiveTask>(coordinator_address, behaviour, mutex);
}

void Run(const std::string& address, int workers, absl::Duration duration, double speed) {
  Client client(address);
  proto::ClusterStatus cluster;
  WaitUntil("the coordinator serves", [&] { return client.GetCluster(&cluster); });
  Mutex mutex;
  coordinator::SimulatedPs::Cluster all_ps;
  coordinator::SimulatedPs ps(0, &all_ps);
  all_ps.push_back(&ps);
  const auto ps_task = MakePs(address, &ps, &mutex);
  std::vector<std::unique_ptr<LeasingWorker>> tasks;
  for (int i = 0; i < workers; ++i) {
    tasks.push_back(std::make_unique<LeasingWorker>(
        address, LeasingWorker::Options{.examples = kBatches, .batches_per_second = speed}));
  }
  Ticker ticker([&tasks] {
    for (auto& task : tasks) task->Tick();
  });
  for (auto& task : tasks) WaitUntil("all workers have joined", [&] { return task->joined(); });
  proto::ModelSpec model;
  CAIRN_CHECK(google::protobuf::util::JsonStringToMessage(kModel, &model).ok());
  client.Submit(kJob, proto::Job(), std::move(model));
  WaitUntil("all workers have had batches",
            [&] { return client.BatchesDone(kJob) > 100 * workers; });
  absl::SleepFor(kWarmUp);
  const Measured measured = Measure(&client, cluster.coordinator().pid(), duration);
  for (auto& task : tasks) {
    if (task->breaks() > 0) Fail("a worker has lost its stream");
  }
  const std::string who = absl::StrCat(workers, " workers");
  const std::string name = speed > 0 ? absl::StrCat(who, " of ", speed, " batches/s") : who;
  const auto thousands = std::llround(measured.per_cpu_second / 1000);
  PrintRow({.name = name,
            .value = measured.batches_per_second,
            .unit = "batches/s",
            .at_least = kBar,
            .note = absl::StrCat("the coordinator by itself: ", thousands, "k a CPU second")});
}

}  // namespace
}  // namespace cairn::benchmarks

int main(int argc, char** argv) {
  const int workers = argc > 2 ? std::atoi(argv[2]) : 0;
  const double seconds = argc > 3 ? std::atof(argv[3]) : 0;
  if (argc < 4 || argc > 5 || workers < 1 || seconds <= 0) {
    std::fprintf(stderr, "usage: dispatch COORDINATOR_ADDRESS WORKERS SECONDS [SPEED]\n");
    return 2;
  }
  cairn::benchmarks::Run(argv[1], workers, absl::Seconds(seconds),
                         argc > 4 ? std::atof(argv[4]) : 0);
  return 0;
}
