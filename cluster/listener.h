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

// Accepts connections for a gRPC server. It replaces gRPC's own listener, which in version 1.51
// stops for good when accept fails once, for example because the process has no free file
// descriptors (CVE-2023-4785). While only a few descriptors are left, this listener closes new
// connections and logs a warning, so that the process can still open logs, journals and snapshots.
// It resumes when there are enough descriptors again.
class Listener {
 public:
  // Takes ownership of a connected, non-blocking socket. Called on the listener's thread.
  using Accepted = std::function<void(int descriptor)>;

  // Binds `address` (HOST:PORT; port 0 chooses a free port) on all addresses that the host resolves
  // to. Connections wait until Start. InvalidArgument: not an address. AlreadyExists: another
  // process uses the port. Unavailable: any other failure to bind.
  static absl::StatusOr<std::unique_ptr<Listener>> Listen(const std::string& address);
  // Calls Stop.
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // The bound port.
  int port() const { return port_; }

  // Starts accepting connections. Must be called at most once.
  void Start(Accepted accepted);

  // Closes the port. `accepted` is not called afterwards. Must not be called on the listener's
  // thread. Idempotent.
  void Stop();

 private:
  Listener() = default;

  void Run();
  // Returns false if the system lacks resources to accept a connection.
  bool AcceptFrom(int socket);
  void HandOver(int descriptor);
  void Refuse(const char* why);

  std::vector<int> sockets_;
  int wake_ = -1;  // An eventfd; readable when the thread must stop.
  int port_ = 0;
  Accepted accepted_;

  // Used only by the thread.
  int64_t refused_ = 0;  // Since the last warning.
  std::chrono::steady_clock::time_point next_warning_;

  std::thread thread_;
};

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_LISTENER_H_
