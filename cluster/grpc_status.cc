#include "cluster/grpc_status.h"

#include <grpcpp/support/status.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace cairn::cluster {
namespace {

// Messages are sent percent-encoded in HTTP/2 trailers, which gRPC limits to 8 KiB by default.
constexpr size_t kMessageBytesMax = 2000;

std::string Shortened(std::string message) {
  if (message.size() <= kMessageBytesMax) return message;
  message.resize(kMessageBytesMax);
  return message + "...";
}

// The details of a status that Cairn sends.
std::string Mark(grpc::StatusCode code) { return absl::StrCat("cairn ", static_cast<int>(code)); }

}  // namespace

absl::Status FromGrpc(const grpc::Status& status) {
  // gRPC itself returns this if the server lacks the service, for example when the coordinator's
  // address is that of a ps.
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED && status.error_message().empty()) {
    return absl::UnimplementedError("the server does not have this service");
  }
  const auto code = static_cast<absl::StatusCode>(status.error_code());
  const bool is_own = IsFromServer(status);
  const bool is_damaged = !is_own && !status.error_details().empty();
  const bool is_unclear = code == absl::StatusCode::kUnknown || code == absl::StatusCode::kInternal;
  if (is_damaged || (!is_own && is_unclear)) return absl::UnavailableError(status.error_message());
  return absl::Status(code, status.error_message());
}

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const auto code = static_cast<grpc::StatusCode>(status.code());
  return grpc::Status(code, Shortened(std::string(status.message())), Mark(code));
}

bool IsFromServer(const grpc::Status& status) {
  return status.ok() || status.error_details() == Mark(status.error_code());
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
