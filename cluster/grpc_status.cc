#include "cluster/grpc_status.h"

#include <grpcpp/support/status.h>

#include <string>

namespace cairn::cluster {
namespace {

// Messages are sent percent-encoded in HTTP/2 trailers, which gRPC limits to 8 KiB by default.
constexpr size_t kMessageBytesMax = 2000;

std::string Shortened(std::string message) {
  if (message.size() <= kMessageBytesMax) return message;
  message.resize(kMessageBytesMax);
  return message + "...";
}

}  // namespace

absl::Status FromGrpc(const grpc::Status& status) {
  // gRPC itself returns this if the server lacks the service, for example when the coordinator's
  // address is that of a ps.
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED && status.error_message().empty()) {
    return absl::UnimplementedError("the server does not have this service");
  }
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      Shortened(std::string(status.message())));
}

bool IsTransient(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kDataLoss:
      return true;
    default:
      return false;
  }
}

}  // namespace cairn::cluster
