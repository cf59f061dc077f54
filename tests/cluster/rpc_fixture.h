#ifndef CAIRN_TESTS_CLUSTER_RPC_FIXTURE_H_
#define CAIRN_TESTS_CLUSTER_RPC_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cluster/data_server.h"
#include "common/bounded_queue.h"
#include "tests/common/free_port.h"

namespace cairn::cluster {

// The timeout for expected events, which is reached only if the test fails. Shorter than Bazel's
// timeout, so that the test can report what is missing.
inline constexpr absl::Duration kPatience = absl::Seconds(30);

// Passes items from callbacks to the test's thread.
template <typename T>
class Mailbox {
 public:
  void Put(T item) { items_.Push(std::move(item)); }
  // Fails the test and returns a default value if no item arrives.
  T Take() {
    std::optional<T> item = items_.Pop(kPatience);
    EXPECT_TRUE(item.has_value()) << "nothing came";
    return item.has_value() ? *std::move(item) : T();
  }
  bool empty() const { return items_.size() == 0; }

 private:
  BoundedQueue<T> items_{10000};
};

using CallBox = Mailbox<std::unique_ptr<RawCall>>;

// Starts a server that puts its calls into `box`.
inline std::unique_ptr<DataServer> StartServer(CallBox* box, int port = testing::FreePort(),
                                               int calls_max = 1000) {
  DataServerOptions options;
  options.address = absl::StrCat("127.0.0.1:", port);
  options.calls_max = calls_max;
  auto server = DataServer::Start(
      options, [box](std::unique_ptr<RawCall> call) { box->Put(std::move(call)); });
  EXPECT_TRUE(server.ok()) << server.status();
  return server.ok() ? *std::move(server) : nullptr;
}

inline std::string AddressOf(const DataServer& server) {
  return absl::StrCat("127.0.0.1:", server.port());
}

}  // namespace cairn::cluster

#endif  // CAIRN_TESTS_CLUSTER_RPC_FIXTURE_H_
