#ifndef CAIRN_TESTS_COORDINATOR_TEST_DAEMON_H_
#define CAIRN_TESTS_COORDINATOR_TEST_DAEMON_H_

#include <memory>
#include <string>

#include "cluster/control_server.h"
#include "common/clock.h"
#include "coordinator/control_loop.h"
#include "coordinator/coordinator_service.h"
#include "coordinator/session_registry.h"
#include "proto/coordinator.grpc.pb.h"
#include "storage/journal.h"

namespace cairn::coordinator {

// The whole daemon except main.cc, on a port of its own, for a cluster of 2 ps (127.0.0.1:1 and :2)
// and 2 workers.
class TestDaemon {
 public:
  // The journal goes to `directory`.
  explicit TestDaemon(const std::string& directory, size_t queue_capacity = 65536);
  ~TestDaemon();

  std::string address() const;
  std::unique_ptr<proto::Coordinator::Stub> MakeStub() const;
  storage::Journal& journal() { return *journal_; }
  ControlLoop& loop() { return *loop_; }
  SessionRegistry& sessions() { return sessions_; }

 private:
  RealClock clock_;
  SessionRegistry sessions_;
  std::unique_ptr<storage::Journal> journal_;
  std::unique_ptr<ControlLoop> loop_;
  std::unique_ptr<CoordinatorService> service_;
  std::unique_ptr<cluster::ControlServer> server_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_TESTS_COORDINATOR_TEST_DAEMON_H_
