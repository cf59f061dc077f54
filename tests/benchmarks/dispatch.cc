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

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cluster/rpc_channel.h"
#include "common/check.h"
#include "common/version.h"
#include "google/protobuf/util/json_util.h"
#include "proto/coordinator.grpc.pb.h"
#include "tests/benchmarks/leasing_worker.h"
#include "tests/benchmarks/result_row.h"
#include "tests/coordinator/live_task.h"
#include "tests/coordinator/simulated_ps.h"

namespace cairn::benchmarks {
namespace {

// One epoch of one-example batches, too many for any run to complete.
constexpr int64_t kBatches = int64_t{1} << 40;
constexpr double kBar = 20000;  // Batches per second.
constexpr absl::Duration kTick = absl::Milliseconds(25);
constexpr absl::Duration kPatience = absl::Seconds(120);
constexpr absl::Duration kWarmUp = absl::Seconds(3);

constexpr char kModel[] = R"({
  "name": "one weight", "inputs": ["in"], "outputs": ["out"],
  "layers": [{"name": "in", "class_name": "InputLayer", "config": {"batch_shape": [null, 1]}},
             {"name": "out", "class_name": "Dense", "config": {"units": 1, "use_bias": false},
              "inputs": ["in"]}]})";

[[noreturn]] void Fail(const std::string& why) {
  std::fprintf(stderr, "dispatch: %s\n", why.c_str());
  std::exit(1);
}

void WaitUntil(const std::string& what, const std::function<bool()>& condition) {
  const absl::Time end = absl::Now() + kPatience;
  while (!condition()) {
    if (absl::Now() > end) Fail(absl::StrCat("waited in vain until ", what));
    absl::SleepFor(absl::Milliseconds(20));
  }
}

// The calls of `cairn` to a coordinator.
class Client {
 public:
  explicit Client(const std::string& address)
      : stub_(proto::Coordinator::NewStub(cluster::CreateChannel(address))) {}

  void Submit() {
    proto::SubmitRequest request;
    request.set_client_version(kVersion);
    proto::Job& job = *request.mutable_job();
    job.set_name("dispatch");
    job.set_model("/dispatch.json");
    job.mutable_train()->mutable_npy()->add_features("/x.npy");
    job.mutable_train()->mutable_npy()->add_labels("/y.npy");
    job.mutable_loss()->set_name("mean_squared_error");
    job.mutable_optimizer()->set_name("sgd");
    job.set_batch_size(1);
    job.set_epochs(1);
    CAIRN_CHECK(google::protobuf::util::JsonStringToMessage(kModel, request.mutable_model()).ok());
    proto::SubmitReply reply;
    grpc::ClientContext context;
    const grpc::Status status = stub_->Submit(&context, request, &reply);
    if (!status.ok()) Fail(absl::StrCat("the job was refused: ", status.error_message()));
  }

  int64_t BatchesDone() {
    proto::JobReference request;
    request.set_job("dispatch");
    proto::JobStatus reply;
    grpc::ClientContext context;
    const grpc::Status status = stub_->GetJob(&context, request, &reply);
    if (!status.ok()) Fail(absl::StrCat("no status: ", status.error_message()));
    if (reply.state() == proto::FAILED) Fail(absl::StrCat("the job failed: ", reply.error()));
    return reply.batches_done();
  }

  // Returns false if the coordinator does not serve yet.
  bool GetCluster(proto::ClusterStatus* cluster) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(1)));
    return stub_->GetCluster(&context, {}, cluster).ok();
  }

 private:
  std::unique_ptr<proto::Coordinator::Stub> stub_;
};

// The CPU time of all threads of a process, from /proc/PID/stat (fields 14 and 15, in clock ticks).
double CpuSeconds(int64_t pid) {
  std::ostringstream text;
  text << std::ifstream(absl::StrCat("/proc/", pid, "/stat")).rdbuf();
  const std::string all = text.str();
  std::istringstream fields(all.substr(all.rfind(')') + 2));
  std::string skipped;
  for (int i = 3; i < 14; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

// Calls Tick of the workers periodically.
class Ticker {
 public:
  explicit Ticker(std::vector<std::unique_ptr<LeasingWorker>>* workers) {
    thread_ = std::thread([this, workers] {
      while (!stop_) {
        const absl::Time next = absl::Now() + kTick;
        for (auto& worker : *workers) worker->Tick();
        absl::SleepFor(next - absl::Now());
      }
    });
  }
  ~Ticker() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

struct Measured {
  double batches_per_second = 0;
  double per_cpu_second = 0;
};

Measured Measure(Client* client, int64_t pid, absl::Duration duration) {
  const int64_t first = client->BatchesDone();
  const double cpu = CpuSeconds(pid);
  const absl::Time begin = absl::Now();
  absl::SleepFor(duration);
  const auto done = static_cast<double>(client->BatchesDone() - first);
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
    tasks.push_back(std::make_unique<LeasingWorker>(address, kBatches, speed));
  }
  for (auto& task : tasks) WaitUntil("all workers have joined", [&] { return task->joined(); });
  Ticker ticker(&tasks);
  client.Submit();
  WaitUntil("all workers have had batches", [&] { return client.BatchesDone() > 100 * workers; });
  absl::SleepFor(kWarmUp);
  const Measured measured = Measure(&client, cluster.coordinator().pid(), duration);
  for (auto& task : tasks) {
    if (task->broken()) Fail("a worker has lost its stream");
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
