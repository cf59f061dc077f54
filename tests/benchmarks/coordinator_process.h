#ifndef CAIRN_TESTS_BENCHMARKS_COORDINATOR_PROCESS_H_
#define CAIRN_TESTS_BENCHMARKS_COORDINATOR_PROCESS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "proto/coordinator.grpc.pb.h"

namespace cairn::benchmarks {

// Prints why and ends this program.
[[noreturn]] void Fail(const std::string& why);
// Fails after two minutes.
void WaitUntil(const std::string& what, const std::function<bool()>& condition);

// The CPU time that a process has used, and the most memory that it had, from /proc.
double CpuSeconds(int64_t pid);
double PeakMebibytes(int64_t pid);

// The calls of `cairn` to a coordinator.
class Client {
 public:
  explicit Client(const std::string& address);

  // A job of one epoch with batches of one example. `job` may set its consistency.
  void Submit(const std::string& name, proto::Job job, proto::ModelSpec model);
  int64_t BatchesDone(const std::string& job);
  void TakeCheckpoint(const std::string& job);
  // Returns false if the coordinator does not serve yet.
  bool GetCluster(proto::ClusterStatus* cluster);

 private:
  std::unique_ptr<proto::Coordinator::Stub> stub_;
};

// Calls `tick` 40 times per second, on a thread of its own.
class Ticker {
 public:
  explicit Ticker(std::function<void()> tick);
  ~Ticker();

 private:
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace cairn::benchmarks

#endif  // CAIRN_TESTS_BENCHMARKS_COORDINATOR_PROCESS_H_
