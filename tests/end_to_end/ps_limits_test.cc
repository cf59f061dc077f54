// The limits of a real ps_server: the gradients that no block has taken yet, and what it keeps for
// a client that never reads its replies. The test is its coordinator and its clients.

#include <arpa/inet.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cluster/frame.h"
#include "cluster/partition_map.h"
#include "common/version.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/parameter_server.pb.h"
#include "tests/common/free_port.h"
#include "tests/end_to_end/test_cluster.h"
#include "tests/parameters/fake_coordinator.h"
#include "tests/parameters/test_job.h"

namespace cairn::testing {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;

constexpr uint32_t kBlock = 0;
// A sanitizer keeps freed memory, so the size of a process says nothing.
constexpr bool kSanitized = kPatience > 1;
constexpr char kService[] = "/cairn.proto.ParameterServer/";

// A header for a request about kBlock.
template <typename Header>
Header HeaderFor(const std::string& sender, int64_t batch) {
  Header header;
  header.mutable_envelope()->set_version(kVersion);
  header.mutable_envelope()->set_cluster_id(parameters::kClusterId);
  header.mutable_envelope()->set_sender(sender);
  header.set_job_id(7);
  header.set_generation(1);
  header.set_batch(batch);
  header.add_blocks(kBlock);
  return header;
}

// A client with a connection of its own, which repeats nothing.
class Client {
 public:
  Client(const std::string& address, std::string name) : name_(std::move(name)) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetMaxReceiveMessageSize(-1);
    stub_ = std::make_unique<grpc::GenericStub>(
        grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
  }
  ~Client() {
    queue_.Shutdown();
    void* tag;
    bool ok;
    while (queue_.Next(&tag, &ok)) {
    }
  }

  void Push(int64_t batch, const std::vector<float>& gradient) {
    auto header = HeaderFor<proto::PushHeader>(name_, batch);
    header.set_examples(1);
    Call("Push", batch,
         *cluster::EncodeFrame(header, {cluster::FramePiece::OfFloats(gradient, nullptr)}));
  }
  void Pull(int64_t batch) {
    Call("Pull", batch, *cluster::EncodeFrame(HeaderFor<proto::PullHeader>(name_, batch), {}));
  }

  struct Reply {
    int64_t batch = 0;
    grpc::Status status;
    grpc::ByteBuffer bytes;
    grpc::ClientContext context;
    std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
  };
  // The next reply that arrives; null: none does.
  std::unique_ptr<Reply> Take() {
    void* tag = nullptr;
    bool ok = false;
    const auto deadline = std::chrono::system_clock::now() + seconds(20 * kPatience);
    if (queue_.AsyncNext(&tag, &ok, deadline) != grpc::CompletionQueue::GOT_EVENT) return nullptr;
    return std::unique_ptr<Reply>(static_cast<Reply*>(tag));
  }

 private:
  void Call(const std::string& method, int64_t batch, const cluster::Frame& frame) {
    auto reply = std::make_unique<Reply>();
    reply->batch = batch;
    reply->reader =
        stub_->PrepareUnaryCall(&reply->context, kService + method, *frame.buffer(), &queue_);
    reply->reader->StartCall();
    Reply* const tag = reply.release();
    tag->reader->Finish(&tag->bytes, &tag->status, tag);
  }

  const std::string name_;
  std::unique_ptr<grpc::GenericStub> stub_;
  grpc::CompletionQueue queue_;
};

// Speaks as much HTTP/2 as a request needs, and reads nothing.
class DeafClient {
 public:
  explicit DeafClient(int port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    // SETTINGS_INITIAL_WINDOW_SIZE and WINDOW_UPDATE: it would take 2 GiB of replies.
    SendFrame(4, 0, 0, std::string("\0\4", 2) + Number(0x7fffffff));
    SendFrame(8, 0, 0, Number(0x7fff0000));
  }
  ~DeafClient() { close(socket_); }

  void Pull(int64_t batch) {
    std::string head;
    const std::vector<std::pair<std::string, std::string>> fields = {
        {":method", "POST"},
        {":scheme", "http"},
        {":path", std::string(kService) + "Pull"},
        {":authority", "ps"},
        {"content-type", "application/grpc"},
        {"te", "trailers"},
    };
    for (const auto& [name, value] : fields) {
      // A literal without indexing.
      head += '\0';
      head += static_cast<char>(name.size()) + name;
      head += static_cast<char>(value.size()) + value;
    }
    const std::string body =
        cluster::EncodeFrame(HeaderFor<proto::PullHeader>("worker 9", batch), {})->ToBytes();
    constexpr int kEndStream = 1, kEndHeaders = 4;
    SendFrame(1, kEndHeaders, stream_, head);
    SendFrame(0, kEndStream, stream_, '\0' + Number(static_cast<uint32_t>(body.size())) + body);
    stream_ += 2;
  }

  int port() const {
    sockaddr_in address = {};
    socklen_t size = sizeof address;
    EXPECT_EQ(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    return ntohs(address.sin_port);
  }

 private:
  static std::string Number(uint32_t value) {
    const uint32_t big = htonl(value);
    return {reinterpret_cast<const char*>(&big), sizeof big};
  }
  void SendFrame(int type, int flags, uint32_t stream, const std::string& payload) {
    Send(Number(static_cast<uint32_t>(payload.size())).substr(1) + static_cast<char>(type) +
         static_cast<char>(flags) + Number(stream) + payload);
  }
  void Send(const std::string& bytes) {
    EXPECT_EQ(send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }

  const int socket_;
  uint32_t stream_ = 1;
};

class PsLimits : public ::testing::Test {
 protected:
  PsLimits() {
    parameters::TestJobOptions options;
    options.hidden_units = 1 << 16;
    options.batches_per_epoch = 10000;
    options.total_batches = 10000;
    plan_ = parameters::MakePlan(options);
    elements_ = cluster::BlockElements(plan_.partition(), kBlock);
    gradient_.assign(elements_, 1.0f);
  }

  // Returns when the ps has loaded the job.
  void Start(const std::vector<std::string>& flags) {
    Process::Options options;
    options.arguments = {ProgramPath("ps_server/ps_server"), "--state", folder_.path("state"),
                         "--threads", "1"};
    options.arguments.insert(options.arguments.end(), flags.begin(), flags.end());
    options.environment["TF_CONFIG"] = absl::StrCat(
        R"({"cluster": {"chief": [")", coordinator_.address(), R"("], "ps": [")", address(),
        R"("], "worker": ["127.0.0.1:1"]}, "task": {"type": "ps", "index": 0}})");
    options.output_file = folder_.path("ps.log");
    ps_ = Process(options);
    coordinator_.TakeJoin();
    proto::Command command;
    *command.mutable_restore()->mutable_plan() = plan_;
    command.mutable_restore()->set_generation(1);
    coordinator_.Tell(command);
    const proto::TaskMessage reply = coordinator_.Take();
    ASSERT_TRUE(reply.has_restored() && reply.restored().error().empty())
        << reply.ShortDebugString() << ReadFile(options.output_file);
  }

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

  // Pushes a batch that must be applied.
  void Push(Client* client, int64_t batch) {
    client->Push(batch, gradient_);
    const auto reply = client->Take();
    ASSERT_NE(reply, nullptr) << batch;
    ASSERT_TRUE(reply->status.ok()) << batch << reply->status.error_message();
  }

  std::vector<float> Values(Client* client) {
    client->Pull(0);
    const auto reply = client->Take();
    EXPECT_TRUE(reply != nullptr && reply->status.ok());
    proto::PullReplyHeader header;
    auto reader = cluster::FrameReader::Open(
        cluster::Frame(std::make_shared<grpc::ByteBuffer>(reply->bytes)), &header);
    EXPECT_TRUE(reader.ok()) << reader.status();
    std::vector<float> values(elements_);
    EXPECT_TRUE(reader->Read(absl::MakeSpan(values)).ok());
    return values;
  }

  // Whether the ps still has the connection. (The kernel gives it up without telling the peer.)
  bool IsConnected(const DeafClient& client) const {
    const std::string ends =
        absl::StrFormat("0100007F:%04X 0100007F:%04X 01", port_, client.port());
    return ReadFile("/proc/net/tcp").find(ends) != std::string::npos;
  }

  // Of the ps, as "VmRSS" and the like.
  int64_t Kilobytes(const std::string& name) {
    std::ifstream file(absl::StrCat("/proc/", ps_.pid(), "/status"));
    for (std::string word; file >> word;) {
      int64_t value = 0;
      if (word == name + ":" && file >> value) return value;
    }
    return -1;
  }

  parameters::FakeCoordinator coordinator_;
  TemporaryFolder folder_;
  const int port_ = FreePort();
  proto::JobPlan plan_;
  int64_t elements_ = 0;
  std::vector<float> gradient_;
  Process ps_;
};

TEST_F(PsLimits, PushesBeyondTheBytesOfAConnectionAndOfAllAreRefusedAndCountOnceWhenRepeated) {
  const std::string points = folder_.path("points");
  // The thread that owns the block takes nothing from its queue.
  WriteFile(points, "block.ledger_tested=hang@1-1000");
  // Two pushes of each connection, four in total.
  ASSERT_NO_FATAL_FAILURE(
      Start({"--unsafe_testing", "--failpoint_file", points, "--unsafe_pushed_bytes",
             absl::StrCat(4 * elements_ * sizeof(float))}));
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(std::make_unique<Client>(address(), absl::StrCat("worker ", i)));
  }
  const std::vector<float> initial = Values(clients[0].get());
  constexpr int64_t kPushes = 6;
  std::deque<int64_t> refused;
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t j = 0; j < kPushes; ++j) clients[i]->Push(i * kPushes + j, gradient_);
    for (int64_t j = i < 2 ? 2 : 0; j < kPushes; ++j) {
      const auto reply = clients[i]->Take();
      ASSERT_NE(reply, nullptr) << i << " " << j;
      EXPECT_EQ(reply->status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
      EXPECT_THAT(reply->status.error_message(),
                  HasSubstr("ps 0 has too many bytes of gradients in its queues; try again"));
      refused.push_back(reply->batch);
    }
  }
  EXPECT_EQ(refused.size(), 14u);
  WriteFile(points, "");
  for (int64_t i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      const auto reply = clients[i]->Take();
      ASSERT_NE(reply, nullptr);
      EXPECT_TRUE(reply->status.ok()) << reply->status.error_message();
    }
  }
  for (const int64_t batch : refused) ASSERT_NO_FATAL_FAILURE(Push(clients[2].get(), batch));
  const std::vector<float> values = Values(clients[0].get());
  for (int64_t i = 0; i < elements_; ++i) {
    float expected = initial[i];
    for (int64_t j = 0; j < 3 * kPushes; ++j) expected -= 1.0f;
    ASSERT_EQ(values[i], expected) << i;
  }
}

// Each of its replies keeps the values of another version in memory, until the ps gives it up. Then
// the same memory serves the next such client.
TEST_F(PsLimits, AClientThatNeverReadsItsRepliesIsDisconnectedAndHoldsNobodyUp) {
  constexpr int64_t kHeld = 40 << 10;  // KiB.
  ASSERT_NO_FATAL_FAILURE(Start({}));
  Client client(address(), "worker 0");
  int64_t batch = 0;
  ASSERT_NO_FATAL_FAILURE(Push(&client, batch++));
  const int64_t before = Kilobytes("VmRSS");
  DeafClient first(port_);
  // Some replies have the same version.
  while (kSanitized ? batch < kHeld / 1024 : Kilobytes("VmRSS") < before + kHeld && batch < 5000) {
    first.Pull(0);
    ASSERT_NO_FATAL_FAILURE(Push(&client, batch++));
  }
  const int64_t held = Kilobytes("VmRSS");
  if (!kSanitized) {
    EXPECT_GE(held - before, kHeld) << "its replies keep nothing in memory";
  }
  ASSERT_TRUE(IsConnected(first));
  const auto begin = steady_clock::now();
  std::chrono::duration<double> longest{0};
  while (IsConnected(first) && steady_clock::now() - begin < seconds(30 * kPatience)) {
    const auto sent = steady_clock::now();
    ASSERT_NO_FATAL_FAILURE(Push(&client, batch++));
    longest = std::max<std::chrono::duration<double>>(longest, steady_clock::now() - sent);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_FALSE(IsConnected(first)) << ReadFile(folder_.path("ps.log"));
  const std::chrono::duration<double> time = steady_clock::now() - begin;
  DeafClient second(port_);
  for (int i = 0; i < kHeld / 2048; ++i) {
    second.Pull(0);
    ASSERT_NO_FATAL_FAILURE(Push(&client, batch++));
  }
  if (!kSanitized) {
    EXPECT_LT(Kilobytes("VmRSS"), held + kHeld / 4);
  }
  printf("%ld KiB before, %ld held, %ld held again; ended after %.1f s; longest push %.3f s\n",
         static_cast<long>(before), static_cast<long>(held), static_cast<long>(Kilobytes("VmRSS")),
         time.count(), longest.count());
}

}  // namespace
}  // namespace cairn::testing
