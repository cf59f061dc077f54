#ifndef CAIRN_TESTS_PS_SERVER_FAKE_COORDINATOR_H_
#define CAIRN_TESTS_PS_SERVER_FAKE_COORDINATOR_H_

#include <cstdint>
#include <memory>
#include <string>

#include "proto/coordinator.pb.h"

namespace cairn::ps {

inline constexpr uint64_t kClusterId = 0xca1124;

// A coordinator that welcomes whoever joins and says what the test tells it to, over real gRPC on
// loopback.
class FakeCoordinator {
 public:
  // `port` 0: any free one.
  explicit FakeCoordinator(int port = 0);
  ~FakeCoordinator();

  int port() const;
  std::string address() const;

  // The Join of the next task that comes.
  proto::Join TakeJoin();

  // Ends the stream of the task that joined last, and welcomes it to another cluster when it is
  // back.
  void BecomeAnotherCluster();

  // Says something to the task that joined last.
  void Tell(const proto::Command& command);

  // The next thing that it said, heartbeats left out. Fails the test if nothing comes.
  proto::TaskMessage Take();
  // Until it says a heartbeat.
  proto::Heartbeat TakeHeartbeat();

 private:
  class Service;
  class Session;
  struct Server;
  std::unique_ptr<Server> server_;
};

}  // namespace cairn::ps

#endif  // CAIRN_TESTS_PS_SERVER_FAKE_COORDINATOR_H_
