#include "cluster/grpc_library.h"

#include <grpc/grpc.h>
#include <grpcpp/completion_queue.h>
#include <gtest/gtest.h>

namespace cairn::cluster {
namespace {

TEST(GrpcLibraryTest, TheLibraryOutlivesItsLastUser) {
  KeepGrpcRunning();
  KeepGrpcRunning();
  { grpc::CompletionQueue queue; }
  EXPECT_TRUE(grpc_is_initialized());
}

}  // namespace
}  // namespace cairn::cluster
