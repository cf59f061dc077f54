// The data plane on this machine: one client, and one ps with its blocks and optimizer in another
// process, compared with plain loopback TCP between two processes. TCP is measured again before
// each measurement of the ps. Prints rows for results.py; ratios are medians of interleaved rounds.
//
// Usage: data_plane [ROUNDS=5] [sgd|adam]     (default: both, one after the other)
//
//   push   gradients of the size, in requests of one block (1 MiB) as a worker sends them; it ends
//          when all are applied and acknowledged
//   pull   values of the size, likewise
//   small  pulls of 64 values: how many a second, one after the other and 64 at a time
//
// The floors: over TCP, the loopback connection, which copies every byte twice and has no requests
// (plain gRPC with raw byte buffers reaches at most 0.46 of it); in shared memory, one copy with
// its checksum on each side; for small pulls, a round trip through the kernel, 20 us.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/daemon.h"
#include "cluster/partition_map.h"
#include "cluster/ps_client.h"
#include "common/check.h"
#include "common/mutex.h"
#include "tests/benchmarks/result_row.h"
#include "tests/worker/counting_plan.h"
#include "tests/worker/test_ps.h"

namespace cairn::worker {
namespace {

constexpr size_t kMebibyte = size_t{1} << 20;
constexpr size_t kMeasuredBytes = 512 * kMebibyte;
constexpr int64_t kBatches = int64_t{1} << 40;
constexpr size_t kSmallElements = 64;
// The target for 4 MiB, relative to loopback TCP.
constexpr size_t kBarMebibytes = 4;
constexpr double kBar = 0.40;

using benchmarks::Median;
using benchmarks::PrintRow;

double SecondsOf(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Runs `child` in a process that ends with this one. This process must have no threads.
pid_t Fork(const std::function<void()>& child) {
  const pid_t id = fork();
  CAIRN_CHECK(id >= 0);
  if (id > 0) return id;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  child();
  _exit(0);
}

void End(pid_t child) {
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

// The machine's own limit: bytes through a loopback connection to another process.
class LoopbackTcp {
 public:
  LoopbackTcp() {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = {};
    socklen_t length = sizeof(address);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* any = reinterpret_cast<sockaddr*>(&address);
    CAIRN_CHECK(bind(listener, any, length) == 0 && listen(listener, 1) == 0);
    CAIRN_CHECK(getsockname(listener, any, &length) == 0);
    child_ = Fork([&] { Acknowledge(accept(listener, nullptr, nullptr)); });
    socket_ = socket(AF_INET, SOCK_STREAM, 0);
    CAIRN_CHECK(connect(socket_, any, length) == 0);
    const int yes = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    close(listener);
  }
  ~LoopbackTcp() {
    close(socket_);
    End(child_);
  }

  double GibibytesPerSecond() {
    const double seconds = SecondsOf([this] {
      for (size_t sent = 0; sent < kMeasuredBytes; sent += part_.size()) {
        size_t done = 0;
        while (done < part_.size()) {
          const ssize_t bytes = send(socket_, part_.data() + done, part_.size() - done, 0);
          CAIRN_CHECK(bytes > 0);
          done += static_cast<size_t>(bytes);
        }
      }
      char all;
      CAIRN_CHECK(recv(socket_, &all, 1, 0) == 1);
    });
    return static_cast<double>(kMeasuredBytes) / seconds / (1 << 30);
  }

 private:
  static void Acknowledge(int socket) {
    std::vector<char> part(kMebibyte);
    size_t received = 0;
    while (true) {
      const ssize_t bytes = recv(socket, part.data(), part.size(), 0);
      if (bytes <= 0) return;
      received += static_cast<size_t>(bytes);
      if (received % kMeasuredBytes == 0 && send(socket, "x", 1, 0) != 1) return;
    }
  }

  std::vector<char> part_ = std::vector<char>(kMebibyte, 'x');
  int socket_ = -1;
  pid_t child_ = -1;
};

// A job with one variable of this size on one ps.
proto::JobPlan PlanOf(size_t elements, const std::string& optimizer) {
  proto::JobPlan plan = CountingPlan(
      {.rows = 1, .batches_per_epoch = 1, .batch_size = 1, .epochs = 1, .ps_count = 1});
  const auto rows = static_cast<int64_t>(elements);
  auto& shape =
      (*plan.mutable_model()->mutable_layers(0)->mutable_config()->mutable_fields())["batch_shape"];
  shape.mutable_list_value()->mutable_values(1)->set_number_value(static_cast<double>(rows));
  *plan.mutable_partition() = *cluster::PlaceVariables({{"counter/kernel", {rows, 1}, true}}, 1,
                                                       cluster::Placement::kBalanced);
  plan.mutable_job()->mutable_optimizer()->set_name(optimizer);
  plan.set_batches_per_epoch(kBatches);
  plan.set_total_batches(kBatches);
  return plan;
}

// A ps in another process, with the job in generation 1.
class PsProcess {
 public:
  explicit PsProcess(const proto::JobPlan& plan) {
    int ends[2];
    CAIRN_CHECK(pipe(ends) == 0);
    child_ = Fork([&] {
      TestPs ps(0);
      ps.Restore(plan, 1);
      const std::string address = ps.address();
      CAIRN_CHECK(write(ends[1], address.data(), address.size()) > 0);
      while (true) pause();
    });
    char address[64];
    const ssize_t bytes = read(ends[0], address, sizeof(address));
    CAIRN_CHECK(bytes > 0);
    address_.assign(address, static_cast<size_t>(bytes));
    close(ends[0]);
    close(ends[1]);
  }
  ~PsProcess() { End(child_); }

  const std::string& address() const { return address_; }
  // Each push takes a new batch number, because a repeated batch would not be applied.
  int64_t NextBatch() { return next_batch_++; }

 private:
  pid_t child_ = -1;
  std::string address_;
  int64_t next_batch_ = 0;
};

// A worker's side of the job: pushes and pulls all of its blocks.
class Client {
 public:
  Client(const proto::JobPlan& plan, PsProcess* ps, bool share_memory)
      : plan_(plan),
        ps_(*ps),
        values_(cluster::VariableElements(plan.partition().variables(0)), 0.001f) {
    cluster::PsClientOptions options;
    options.addresses = {ps->address()};
    options.cluster_id = kTestClusterId;
    options.sender = "benchmark";
    options.share_memory = share_memory;
    client_ = std::make_unique<cluster::PsClient>(options);
  }

  void StartPush() {
    batch_ = ps_.NextBatch();
    for (int id = 0; id < plan_.partition().blocks_size(); ++id) {
      proto::PushHeader header;
      Name(id, &header);
      header.set_examples(1);
      Begin();
      client_->Push(0, header, {cluster::FramePiece::Borrowed(BlockOf(id))}, {},
                    [this](const auto& reply) { Finish(reply.status()); });
    }
  }

  void StartPull() {
    for (int id = 0; id < plan_.partition().blocks_size(); ++id) {
      proto::PullHeader header;
      Name(id, &header);
      Begin();
      client_->Pull(0, header, {BlockOf(id)},
                    [this](const auto& reply) { Finish(reply.status()); });
    }
  }

  // Waits until fewer than `limit` requests are in flight.
  void WaitBelow(int limit) {
    MutexLock lock(&mutex_);
    while (open_ >= limit) changed_.Wait(&mutex_);
  }

  size_t bytes() const { return values_.size() * sizeof(float); }

 private:
  template <typename Header>
  void Name(int block, Header* header) {
    header->set_job_id(plan_.job_id());
    header->set_generation(1);
    header->set_batch(batch_);
    header->add_blocks(block);
  }
  absl::Span<float> BlockOf(int id) {
    return absl::MakeSpan(values_).subspan(cluster::BlockOffset(plan_.partition(), id),
                                           cluster::BlockElements(plan_.partition(), id));
  }
  void Begin() {
    MutexLock lock(&mutex_);
    ++open_;
  }
  void Finish(const absl::Status& status) {
    CAIRN_CHECK(status.ok());
    MutexLock lock(&mutex_);
    --open_;
    changed_.NotifyAll();
  }

  const proto::JobPlan& plan_;
  PsProcess& ps_;
  std::vector<float> values_;
  int64_t batch_ = 0;
  Mutex mutex_;
  ConditionVariable changed_;
  int open_ ABSL_GUARDED_BY(mutex_) = 0;
  // Declared last, because its callbacks use the other members.
  std::unique_ptr<cluster::PsClient> client_;
};

using Operation = void (Client::*)();

double GibibytesPerSecond(Client* client, Operation operation) {
  const size_t count = std::max<size_t>(8, kMeasuredBytes / client->bytes());
  const double seconds = SecondsOf([&] {
    for (size_t i = 0; i < count; ++i) {
      (client->*operation)();
      client->WaitBelow(1);
    }
  });
  return static_cast<double>(count * client->bytes()) / seconds / (1 << 30);
}

double PullsPerSecond(Client* client, int in_flight) {
  constexpr int kPulls = 5000;
  const double seconds = SecondsOf([&] {
    for (int i = 0; i < kPulls; ++i) {
      client->WaitBelow(in_flight);
      client->StartPull();
    }
    client->WaitBelow(1);
  });
  return kPulls / seconds;
}

struct Row {
  std::string name;
  Client* client;
  Operation operation;
  std::optional<double> at_least;
  std::vector<double> speeds;
  std::vector<double> tcp_speeds;
  std::vector<double> ratios;
};

std::string NameOf(const std::string& optimizer) { return optimizer == "sgd" ? "SGD" : "Adam"; }

void Run(int rounds, const std::string& optimizer) {
  // All processes are forked first, before this one has threads.
  LoopbackTcp tcp;
  std::vector<proto::JobPlan> plans;
  std::vector<size_t> mebibytes = {1, 4, 16, 64};
  for (size_t size : mebibytes) {
    plans.push_back(PlanOf(size * kMebibyte / sizeof(float), optimizer));
  }
  plans.push_back(PlanOf(kSmallElements, optimizer));
  std::vector<std::unique_ptr<PsProcess>> ps;
  for (const auto& plan : plans) ps.push_back(std::make_unique<PsProcess>(plan));

  std::vector<std::unique_ptr<Client>> clients;
  std::vector<Row> rows;
  for (bool share : {true, false}) {
    for (size_t i = 0; i < mebibytes.size(); ++i) {
      clients.push_back(std::make_unique<Client>(plans[i], ps[i].get(), share));
      const std::string what = std::to_string(mebibytes[i]) + " MiB, " + NameOf(optimizer) +
                               (share ? ", shared memory" : ", TCP");
      const auto bar = mebibytes[i] == kBarMebibytes ? std::optional<double>(kBar) : std::nullopt;
      rows.push_back({"push " + what, clients.back().get(), &Client::StartPush, bar, {}, {}, {}});
      rows.push_back({"pull " + what, clients.back().get(), &Client::StartPull, bar, {}, {}, {}});
    }
  }
  for (int round = -1; round < rounds; ++round) {  // The first round is a warm-up.
    for (Row& row : rows) {
      const double limit = tcp.GibibytesPerSecond();
      const double speed = GibibytesPerSecond(row.client, row.operation);
      if (round < 0) continue;
      row.speeds.push_back(speed);
      row.tcp_speeds.push_back(limit);
      row.ratios.push_back(speed / limit);
    }
  }
  for (const Row& row : rows) {
    PrintRow({.name = row.name,
              .value = Median(row.speeds),
              .unit = "GiB/s",
              .peer = "loopback TCP",
              .peer_value = Median(row.tcp_speeds),
              .ratio = Median(row.ratios),
              .at_least = row.at_least});
  }
  if (optimizer != "sgd") return;  // Small pulls do not depend on the optimizer.
  for (const bool share : {true, false}) {
    Client small(plans.back(), ps.back().get(), share);
    PullsPerSecond(&small, 1);
    for (int in_flight : {1, 64}) {
      PrintRow({.name = "small pulls, " + std::to_string(in_flight) + " at a time" +
                        (share ? ", shared memory" : ", TCP"),
                .value = PullsPerSecond(&small, in_flight),
                .unit = "pulls/s"});
    }
  }
}

}  // namespace
}  // namespace cairn::worker

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
  const std::string optimizer = argc > 2 ? argv[2] : "both";
  if (rounds < 1 || argc > 3 ||
      (optimizer != "sgd" && optimizer != "adam" && optimizer != "both")) {
    std::fprintf(stderr, "usage: data_plane [ROUNDS] [sgd|adam]\n");
    return 2;
  }
  cairn::cluster::KeepMemory();
  for (const char* each : {"sgd", "adam"}) {
    if (optimizer != each && optimizer != "both") continue;
    // In a separate process: gRPC's threads of one run would prevent the fork of the next one.
    int status = 0;
    const pid_t child = cairn::worker::Fork([&] { cairn::worker::Run(rounds, each); });
    CAIRN_CHECK(waitpid(child, &status, 0) == child);
    if (status != 0) return 1;
  }
  return 0;
}
