#ifndef CAIRN_TESTS_PARAMETERS_FAKE_COORDINATOR_H_
#define CAIRN_TESTS_PARAMETERS_FAKE_COORDINATOR_H_

#include <cstdint>
#include <memory>
#include <string>

#include "proto/coordinator.pb.h"

namespace cairn::parameters {

inline constexpr uint64_t kClusterId = 0xca1124;

// A coordinator that accepts every task and sends the commands of the test, over gRPC on loopback.
class FakeCoordinator {
 public:
  // Port 0 chooses a free port.
  explicit FakeCoordinator(int port = 0);
  ~FakeCoordinator();

  int port() const;
  std::string address() const;

  // Returns the Join of the next task.
  proto::Join TakeJoin();

  // Ends the stream of the last task, and welcomes it to another cluster when it joins again.
  void BecomeAnotherCluster();

  // Sends a command to the last task.
  void Tell(const proto::Command& command);

  // Returns its next message, except heartbeats. Fails the test if none arrives.
  proto::TaskMessage Take();
  // Waits for a heartbeat.
  proto::Heartbeat TakeHeartbeat();

 private:
  class Service;
  class Session;
  struct Server;
  std::unique_ptr<Server> server_;
};

}  // namespace cairn::parameters

#endif  // CAIRN_TESTS_PARAMETERS_FAKE_COORDINATOR_H_
