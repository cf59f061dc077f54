#ifndef CAIRN_CLUSTER_DATA_SERVER_H_
#define CAIRN_CLUSTER_DATA_SERVER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cluster/raw_call.h"

namespace cairn::cluster {

struct DataServerOptions {
  std::string address;  // HOST:PORT; port 0 chooses a free port.
  int threads = 2;      // Each has its own completion queue.
  // The maximum number of calls in progress, including parked ones and excluding pushes. Further
  // calls get RESOURCE_EXHAUSTED. Pushes are not limited here, because all parked calls may be
  // waiting for the very push that would be rejected; the handler limits them (a ps keeps one for
  // each batch of a block's update).
  int calls_max = 16384;
};

// Serves proto::ParameterServer with raw frames (frame.h) on completion queues, with gRPC health
// checking and reflection. Answers pings itself, on the threads that call the handler, so a ping
// that is answered shows that they serve. Thread-safe.
class DataServer {
 public:
  // Called concurrently on the server's threads. Must not block for long, because its thread serves
  // no other call meanwhile.
  using Handler = std::function<void(std::unique_ptr<RawCall>)>;

  // Starts serving. AlreadyExists: the port is in use. InvalidArgument: invalid options.
  // Unavailable: the address cannot be bound.
  static absl::StatusOr<std::unique_ptr<DataServer>> Start(const DataServerOptions& options,
                                                           Handler handler);
  // Calls Shutdown.
  ~DataServer();
  DataServer(const DataServer&) = delete;
  DataServer& operator=(const DataServer&) = delete;

  // Serves a call of this process, on the calling thread; see PsClientOptions::own. Not limited
  // by calls_max. The handler must have read the tensors of the request when it returns.
  // Unavailable after Shutdown.
  void HandleInProcess(std::unique_ptr<RawCall> call);

  // The bound port.
  int port() const;
  // The number of calls from the network whose replies have not been sent completely.
  int calls_in_progress() const;

  // Rejects new calls, answers all waiting calls with UNAVAILABLE (later replies to them are
  // ignored), and waits for the replies to be sent, for at most `grace`. The handler is not called
  // after Shutdown returns. Idempotent.
  void Shutdown(absl::Duration grace = absl::Seconds(1));

 private:
  class Impl;
  explicit DataServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_DATA_SERVER_H_
