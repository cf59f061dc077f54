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
  std::string address;  // HOST:PORT to bind; port 0: any free one.
  int threads = 2;      // Each with a completion queue of its own.
  // In progress, parked ones included, but without pushes; more: RESOURCE_EXHAUSTED. A push that
  // was kept out could be the one that all others wait for: their number is for the handler to
  // bound (a ps keeps one for each batch that an update of a block may have).
  int calls_max = 16384;
};

// Serves proto::ParameterServer with raw frames on completion queues, with gRPC's health service
// and reflection beside it. Thread-safe.
class DataServer {
 public:
  // Called on the server's threads, several at a time. Must not block for long: while it runs, its
  // thread serves nobody else.
  using Handler = std::function<void(std::unique_ptr<RawCall>)>;

  // Serves when it returns. AlreadyExists: the port is in use. InvalidArgument: bad options.
  // Unavailable: the address cannot be bound.
  static absl::StatusOr<std::unique_ptr<DataServer>> Start(const DataServerOptions& options,
                                                           Handler handler);
  // Shuts down.
  ~DataServer();
  DataServer(const DataServer&) = delete;
  DataServer& operator=(const DataServer&) = delete;

  // The port that is bound.
  int port() const;
  // Answered and not answered calls that are still in progress.
  int calls_in_progress() const;

  // Takes no more calls, answers all that wait with UNAVAILABLE (what their owners answer later is
  // ignored), and returns when all answers are out or were cut off after `grace`, and the handler
  // will not be called again. May be called more than once.
  void Shutdown(absl::Duration grace = absl::Seconds(1));

 private:
  class Impl;
  explicit DataServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_DATA_SERVER_H_
