#ifndef CAIRN_CLUSTER_LISTENER_H_
#define CAIRN_CLUSTER_LISTENER_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"

namespace cairn::cluster {

// Accepts a server's connections in gRPC's place: gRPC 1.51 stops listening for good when accept
// fails once, as it does in a process that is out of file descriptors (CVE-2023-4785). This one
// turns connections away while only a few descriptors are left, so that logs, journals and
// snapshots can still be opened; says so in the log; and goes on when there are enough again.
class Listener {
 public:
  // Takes over a connected socket, which does not block. Called on the listener's thread.
  using Accepted = std::function<void(int descriptor)>;

  // Listens when it returns; who connects waits for Start. `address` is HOST:PORT, port 0: any free
  // one; a host that has several addresses is listened for on all of them. InvalidArgument: not an
  // address. AlreadyExists: another process has the port. Unavailable: it cannot be bound for
  // another reason.
  static absl::StatusOr<std::unique_ptr<Listener>> Listen(const std::string& address);
  // Stops.
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // The port that is bound.
  int port() const { return port_; }

  // Once.
  void Start(Accepted accepted);

  // Closes the port; `accepted` is not called afterwards. Not on the listener's thread. May be
  // called more than once.
  void Stop();

 private:
  Listener() = default;

  void Run();
  // False: accept failed for lack of something that may come back.
  bool AcceptFrom(int socket);
  void Take(int descriptor);
  void Refuse(const char* why);

  std::vector<int> sockets_;
  int wake_ = -1;  // An eventfd; readable when the thread is to end.
  int port_ = 0;
  Accepted accepted_;

  // The thread's.
  int64_t refused_ = 0;  // Since the last line in the log.
  std::chrono::steady_clock::time_point next_warning_;

  std::thread thread_;
};

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_LISTENER_H_
