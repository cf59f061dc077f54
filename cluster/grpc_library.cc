#include "cluster/grpc_library.h"

#include <grpc/grpc.h>

namespace cairn::cluster {

void KeepGrpcRunning() {
  static const bool running = [] {
    grpc_init();
    return true;
  }();
  static_cast<void>(running);
}

}  // namespace cairn::cluster
