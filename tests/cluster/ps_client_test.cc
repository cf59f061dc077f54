#include "cluster/ps_client.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cluster/grpc_status.h"
#include "cluster/shared_memory/shared_memory_link.h"
#include "common/version.h"
#include "tests/cluster/rpc_fixture.h"

namespace cairn::cluster {
namespace {

using PullResult = absl::StatusOr<proto::PullReplyHeader>;
using PushResult = absl::StatusOr<proto::PushReplyHeader>;

constexpr PsClient::Group kSomeGroup = 5;

class PsClientTest : public ::testing::Test {
 protected:
  PsClientOptions Options() {
    PsClientOptions options;
    options.addresses = {AddressOf(*server_)};
    options.cluster_id = 77;
    options.sender = "worker 3";
    return options;
  }

  static proto::PullHeader PullOf(int64_t batch, int blocks) {
    proto::PullHeader header;
    header.set_batch(batch);
    for (int block = 0; block < blocks; ++block) header.add_blocks(block);
    return header;
  }

  void Pull(PsClient* client, int64_t batch, std::vector<absl::Span<float>> destinations,
            PsClient::Group group = 0) {
    const int blocks = destinations.size();
    client->Pull(
        0, PullOf(batch, blocks), std::move(destinations),
        [this](PullResult result) { pulls_.Put(std::move(result)); }, group);
  }

  // The header of a request that has come.
  template <typename Header>
  static Header HeaderOf(RawCall* call) {
    Header header;
    auto reader = FrameReader::Open(call->TakeRequest(), &header);
    EXPECT_TRUE(reader.ok()) << reader.status();
    return header;
  }

  // Of equal blocks, into the room that the request offers, if any.
  static Frame PullReply(const std::vector<float>& values, int blocks = 1,
                         const SharedSpan& room = {}) {
    proto::PullReplyHeader header;
    std::vector<FramePiece> pieces;
    const size_t count = values.size() / blocks;
    for (int block = 0; block < blocks; ++block) {
      header.add_versions(100 + block);
      pieces.push_back(FramePiece::Borrowed({values.data() + block * count, count}));
    }
    return *EncodeFrame(header, std::move(pieces), {.payload = room});
  }

  // Pushes one block at a time, each answered with twice what was pushed, until one goes through
  // shared memory; returns that memory.
  std::shared_ptr<SharedMemory> PushUntilMemoryIsShared(PsClient* client) {
    const absl::Time deadline = absl::Now() + kPatience;
    while (absl::Now() < deadline) {
      const SharedSpan room = PushAndAnswer(client);
      if (room.memory != nullptr) return room.memory;
    }
    ADD_FAILURE() << "memory is never shared";
    return nullptr;
  }

  SharedSpan PushAndAnswer(PsClient* client) {
    std::vector<float> gradient(1000, 1.5f), values(1000);
    StartPush(client, gradient, absl::MakeSpan(values));
    auto call = calls_.Take();
    const SharedSpan room = AnswerPush(call.get());
    EXPECT_EQ(pushes_.Take().status(), absl::OkStatus());
    EXPECT_EQ(values, std::vector<float>(1000, 3.0f));
    return room;
  }

  void StartPush(PsClient* client, const std::vector<float>& gradient,
                 absl::Span<float> destination) {
    proto::PushHeader header;
    header.add_blocks(0);
    header.set_want_values(true);
    client->Push(0, header, {FramePiece::Borrowed(gradient)}, {destination},
                 [this](PushResult result) { pushes_.Put(std::move(result)); });
  }

  // With twice the gradient. Returns the room that the request offered for it.
  static SharedSpan AnswerPush(RawCall* call) {
    proto::PushHeader header;
    auto reader = FrameReader::Open(call->TakeRequest(), &header);
    if (!reader.ok()) {
      call->Fail(reader.status());
      return {};
    }
    std::vector<float> values(reader->bytes_left() / sizeof(float));
    EXPECT_TRUE(reader->Read(absl::MakeSpan(values)).ok());
    for (float& value : values) value *= 2;
    proto::PushReplyHeader reply;
    reply.add_versions(1);
    call->Reply(*EncodeFrame(reply, {FramePiece::Borrowed(values)}, reader->reply_room()));
    return reader->reply_room().payload;
  }

  CallBox calls_;
  Mailbox<PullResult> pulls_;
  Mailbox<PushResult> pushes_;
  std::shared_ptr<DataServer> server_ = StartServer(&calls_);
};

// What does not depend on the way of the calls: over the network, or to this process's own ps.
class PsCallTest : public PsClientTest, public ::testing::WithParamInterface<bool> {
 protected:
  PsClientOptions Options() {
    PsClientOptions options = PsClientTest::Options();
    if (GetParam()) options.own = {0, server_};
    return options;
  }
};

INSTANTIATE_TEST_SUITE_P(Ways, PsCallTest, ::testing::Bool(),
                         [](const auto& way) { return way.param ? "InProcess" : "Network"; });

TEST_P(PsCallTest, PulledBlocksArriveInTheirDestinations) {
  std::vector<float> values(2 << 16);
  std::vector<float> first(1 << 16), second(1 << 16);
  PsClient client(Options());
  std::iota(values.begin(), values.end(), 0.0f);
  Pull(&client, 42, {absl::MakeSpan(first), absl::MakeSpan(second)});
  auto call = calls_.Take();
  EXPECT_EQ(call->method(), DataMethod::kPull);
  const auto header = HeaderOf<proto::PullHeader>(call.get());
  EXPECT_EQ(header.batch(), 42);
  EXPECT_EQ(header.envelope().version(), kVersion);
  EXPECT_EQ(header.envelope().cluster_id(), 77u);
  EXPECT_EQ(header.envelope().receiver(), 0u);
  EXPECT_EQ(header.envelope().sender(), "worker 3");
  call->Reply(PullReply(values, 2));
  const PullResult result = pulls_.Take();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->versions(1), 101);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), values.begin()));
  EXPECT_TRUE(std::equal(second.begin(), second.end(), values.begin() + first.size()));
}

TEST_P(PsCallTest, AppliedBatchLeavesTheDestinationsAlone) {
  std::vector<float> block(4, 7.0f);
  PsClient client(Options());
  Pull(&client, 1, {absl::MakeSpan(block)});
  proto::PullReplyHeader header;
  header.set_batch_applied(true);
  calls_.Take()->Reply(*EncodeFrame(header, {}));
  const PullResult result = pulls_.Take();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->batch_applied());
  EXPECT_EQ(block, std::vector<float>(4, 7.0f));
}

TEST_P(PsCallTest, PushCarriesGradientsAndBringsValuesBack) {
  std::vector<float> values(1 << 17);
  Mailbox<PushResult> pushes;
  std::vector<float> pushed(1 << 17);
  PsClient client(Options());
  auto gradient = std::make_shared<std::vector<float>>(1 << 17, 0.25f);
  proto::PushHeader header;
  header.set_batch(9);
  header.add_blocks(4);
  header.set_want_values(true);
  client.Push(0, header, {FramePiece::OfFloats(*gradient, gradient)}, {absl::MakeSpan(values)},
              [&](PushResult result) { pushes.Put(std::move(result)); });
  auto call = calls_.Take();
  proto::PushHeader received;
  auto reader = FrameReader::Open(call->TakeRequest(), &received);
  ASSERT_TRUE(reader.ok());
  ASSERT_TRUE(reader->Read(absl::MakeSpan(pushed)).ok());
  EXPECT_TRUE(reader->ExpectEnd().ok());
  EXPECT_EQ(pushed, *gradient);
  proto::PushReplyHeader reply;
  reply.add_versions(10);
  reply.set_duplicates(1);
  call->Reply(*EncodeFrame(reply, {FramePiece::OfFloats(pushed, nullptr)}));
  const PushResult result = pushes.Take();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->duplicates(), 1u);
  EXPECT_EQ(values, *gradient);
}

TEST_P(PsCallTest, UploadCarriesDescriptionsAndValues) {
  Mailbox<absl::StatusOr<proto::UploadReplyHeader>> uploads;
  PsClient client(Options());
  const std::vector<float> values = {1, 2, 3};
  proto::UploadHeader header;
  header.add_blocks()->set_variable("dense/kernel");
  client.Upload(0, header, {FramePiece::OfFloats(values, nullptr)},
                [&](auto result) { uploads.Put(std::move(result)); });
  auto call = calls_.Take();
  EXPECT_EQ(HeaderOf<proto::UploadHeader>(call.get()).blocks(0).variable(), "dense/kernel");
  proto::UploadReplyHeader reply;
  reply.set_stored(1);
  call->Reply(*EncodeFrame(reply, {}));
  EXPECT_EQ(uploads.Take()->stored(), 1u);
}

// A reply with these blocks, each with the record "head" + "payload".
Frame FetchReply(const std::vector<uint32_t>& blocks, uint32_t header_bytes = 4) {
  static const char kRecord[] = "headpayload";
  proto::FetchReplyHeader header;
  std::vector<FramePiece> pieces;
  for (const uint32_t block : blocks) {
    proto::FetchedBlock* fetched = header.add_blocks();
    fetched->set_block(block);
    fetched->set_header_bytes(header_bytes);
    fetched->set_payload_bytes(7);
    pieces.push_back({kRecord, 11, nullptr});
  }
  return *EncodeFrame(header, std::move(pieces));
}

TEST_P(PsCallTest, FetchBringsTheRecordsOfTheFirstBlocks) {
  Mailbox<absl::StatusOr<std::vector<FetchedRecord>>> fetches;
  PsClient client(Options());
  proto::FetchHeader header;
  header.set_checkpoint(3);
  for (const uint32_t block : {5, 9, 12}) header.add_blocks(block);
  const auto fetch = [&] {
    client.Fetch(0, header, [&](auto records) { fetches.Put(std::move(records)); });
    auto call = calls_.Take();
    EXPECT_EQ(call->method(), DataMethod::kFetch);
    EXPECT_EQ(HeaderOf<proto::FetchHeader>(call.get()).checkpoint(), 3u);
    return call;
  };
  fetch()->Reply(FetchReply({5, 9}));
  const auto records = fetches.Take();
  ASSERT_EQ(records.ok() ? records->size() : 0, 2u) << records.status();
  EXPECT_EQ((*records)[1].block, 9u);
  EXPECT_EQ((*records)[1].header_bytes, 4u);
  EXPECT_EQ((*records)[1].bytes, "headpayload");
  fetch()->Reply(FetchReply({}));  // Nothing, or something else, is not what was asked for.
  EXPECT_EQ(fetches.Take().status().code(), absl::StatusCode::kInternal);
  fetch()->Reply(FetchReply({9, 5}));
  EXPECT_EQ(fetches.Take().status().code(), absl::StatusCode::kInternal);
  fetch()->Reply(FetchReply({5}, 0xffffffff));  // More than is there, or than there is memory for.
  EXPECT_NE(fetches.Take().status().message().find("bytes of tensors too many"), std::string::npos);
}

TEST_P(PsCallTest, WrongGenerationIsTheResultAtOnceAndNamesThePs) {
  PsClient client(Options());
  Pull(&client, 1, {});
  calls_.Take()->Fail(absl::FailedPreconditionError("generation 2, not 1"));
  const PullResult result = pulls_.Take();
  EXPECT_TRUE(absl::IsFailedPrecondition(result.status()));
  EXPECT_NE(result.status().message().find("Pull of ps 0 (127.0.0.1:"), std::string::npos);
  EXPECT_NE(result.status().message().find("generation 2, not 1"), std::string::npos);
}

TEST_P(PsCallTest, TransientFailuresAreRetried) {
  std::vector<float> block(1);
  PsClient client(Options());
  Pull(&client, 1, {absl::MakeSpan(block)});
  calls_.Take()->Fail(absl::UnavailableError("soon"));
  calls_.Take()->Fail(absl::ResourceExhaustedError("too many"));
  calls_.Take().reset();  // Dropped without an answer.
  calls_.Take()->Reply(Frame::FromBytes("garbled"));
  calls_.Take()->Reply(PullReply({5.0f}));
  EXPECT_TRUE(pulls_.Take().ok());
  EXPECT_EQ(block[0], 5.0f);
}

TEST_P(PsCallTest, AttemptThatIsParkedTooLongIsAskedAgainAndTheOldOneAbandoned) {
  PsClientOptions options = Options();
  options.attempt_timeout = absl::Seconds(1);
  std::vector<float> block(1);
  PsClient client(options);
  Pull(&client, 1, {absl::MakeSpan(block)});
  auto parked = calls_.Take();
  const absl::Time deadline = absl::Now() + kPatience;
  // One of the next is answered in time, sooner or later.
  for (; pulls_.empty() && absl::Now() < deadline; absl::SleepFor(absl::Milliseconds(1))) {
    if (!calls_.empty()) calls_.Take()->Reply(PullReply({5.0f}));
  }
  EXPECT_TRUE(pulls_.Take().ok());
  while (!parked->cancelled() && absl::Now() < deadline) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_TRUE(parked->cancelled());
  parked->Reply(PullReply({6.0f}));  // Nobody hears it.
  EXPECT_EQ(block[0], 5.0f);
}

// Damaged bytes can leave a connection that lives and delivers nothing.
TEST_F(PsClientTest, AttemptThatTimesOutIsRepeatedOnANewConnectionUnlessTheOldOneAnswers) {
  PsClientOptions options = Options();
  options.attempt_timeout = absl::Seconds(2);
  PsClient client(options);
  std::vector<float> values(1), others(1);
  Pull(&client, 1, {absl::MakeSpan(values)});
  auto first = calls_.Take();
  auto second = calls_.Take();
  EXPECT_NE(second->peer(), first->peer());
  second->Reply(PullReply({1}));
  EXPECT_TRUE(pulls_.Take().ok());

  Pull(&client, 2, {absl::MakeSpan(values)});
  auto parked = calls_.Take();
  EXPECT_EQ(parked->peer(), second->peer());
  Pull(&client, 3, {absl::MakeSpan(others)});
  calls_.Take()->Reply(PullReply({3}));
  EXPECT_TRUE(pulls_.Take().ok());
  auto again = calls_.Take();
  EXPECT_EQ(again->peer(), parked->peer());
  again->Reply(PullReply({2}));
  EXPECT_TRUE(pulls_.Take().ok());
}

// Ends each call of its first client with an error as gRPC makes it, and each of the next ones with
// an error as a ps sends it.
class SpoiledServer final : public grpc::CallbackGenericService {
 public:
  explicit SpoiledServer(grpc::StatusCode code)
      : error_(code, "Bad :te header"), address_(absl::StrCat("127.0.0.1:", testing::FreePort())) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address_, grpc::InsecureServerCredentials());
    builder.RegisterCallbackGenericService(this);
    server_ = builder.BuildAndStart();
  }
  ~SpoiledServer() override { server_->Shutdown(std::chrono::system_clock::now()); }

  const std::string& address() const { return address_; }

 private:
  class End final : public grpc::ServerGenericBidiReactor {
   public:
    explicit End(const grpc::Status& status) { Finish(status); }
    void OnDone() override { delete this; }
  };

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    const std::lock_guard lock(mutex_);
    if (spoiled_.empty()) spoiled_ = context->peer();
    return new End(context->peer() == spoiled_ ? error_ : ToGrpc(absl::AbortedError("at last")));
  }

  const grpc::Status error_;
  const std::string address_;
  std::mutex mutex_;
  std::string spoiled_;  // The client of the spoiled connection.
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(PsClientTest, AnErrorThatThePsHasNotSentIsRepeatedOnANewConnection) {
  for (const grpc::StatusCode code :
       {grpc::StatusCode::UNAVAILABLE, grpc::StatusCode::UNIMPLEMENTED, grpc::StatusCode::CANCELLED,
        grpc::StatusCode::INTERNAL, grpc::StatusCode::RESOURCE_EXHAUSTED}) {
    SpoiledServer server(code);
    PsClientOptions options = Options();
    options.addresses = {server.address()};
    std::vector<float> block(1);
    PsClient client(options);
    Pull(&client, 1, {absl::MakeSpan(block)});
    EXPECT_TRUE(absl::IsAborted(pulls_.Take().status())) << code;
  }
}

TEST_P(PsCallTest, ReplyOfAnotherSizeIsAnErrorAndWritesNothing) {
  std::vector<float> block(3, 1.0f);
  PsClient client(Options());
  Pull(&client, 1, {absl::MakeSpan(block)});
  calls_.Take()->Reply(PullReply({5.0f, 5.0f}));
  EXPECT_TRUE(absl::IsInternal(pulls_.Take().status()));
  EXPECT_EQ(block, std::vector<float>(3, 1.0f));
}

TEST_P(PsCallTest, WrongNumberOfTensorsIsRefusedWithoutACall) {
  PsClient client(Options());
  client.Pull(0, PullOf(1, 2), {}, [&](PullResult result) { pulls_.Put(std::move(result)); });
  EXPECT_TRUE(absl::IsInvalidArgument(pulls_.Take().status()));
  EXPECT_TRUE(calls_.empty());
}

TEST_P(PsCallTest, ParkedCallsAreAnsweredInAnyOrder) {
  std::vector<float> blocks(50);
  PsClient client(Options());
  for (int batch = 0; batch < 50; ++batch)
    Pull(&client, batch, {absl::MakeSpan(&blocks[batch], 1)});
  std::vector<std::unique_ptr<RawCall>> parked;
  for (int i = 0; i < 50; ++i) parked.push_back(calls_.Take());
  EXPECT_EQ(server_->calls_in_progress(), GetParam() ? 0 : 50);
  EXPECT_TRUE(pulls_.empty());
  while (!parked.empty()) {
    const int64_t batch = HeaderOf<proto::PullHeader>(parked.back().get()).batch();
    parked.back()->Reply(PullReply({static_cast<float>(batch)}));
    parked.pop_back();
  }
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(pulls_.Take().ok());
  for (int batch = 0; batch < 50; ++batch) EXPECT_EQ(blocks[batch], batch);
}

TEST_P(PsCallTest, CancelEndsTheCallsOfItsGroupOnly) {
  std::vector<float> block(1);
  PsClient client(Options());
  Pull(&client, 1, {}, kSomeGroup);
  Pull(&client, 2, {}, kSomeGroup);
  Pull(&client, 3, {absl::MakeSpan(block)});
  std::vector<std::unique_ptr<RawCall>> parked;
  for (int i = 0; i < 3; ++i) parked.push_back(calls_.Take());
  client.Cancel(kSomeGroup);
  EXPECT_TRUE(absl::IsCancelled(pulls_.Take().status()));
  EXPECT_TRUE(absl::IsCancelled(pulls_.Take().status()));
  for (auto& call : parked) call->Reply(PullReply({8.0f}));
  EXPECT_TRUE(pulls_.Take().ok());
  EXPECT_EQ(block[0], 8.0f);
}

TEST_P(PsCallTest, CancelEndsCallsThatWaitForTheirNextAttempt) {
  PsClientOptions options = Options();
  options.first_delay = options.max_delay = absl::Hours(1);
  PsClient client(options);
  Pull(&client, 1, {});
  calls_.Take()->Fail(absl::UnavailableError("later"));
  client.CancelAll();  // Before or after the client has heard of it.
  EXPECT_TRUE(absl::IsCancelled(pulls_.Take().status()));
}

TEST_P(PsCallTest, DestructorCancelsAlsoWhatCallbacksStart) {
  auto owned = std::make_unique<PsClient>(Options());
  PsClient* const client = owned.get();
  client->Pull(0, PullOf(1, 0), {}, [this, client](PullResult first) {
    pulls_.Put(std::move(first));
    Pull(client, 2, {});
  });
  auto parked = calls_.Take();
  client->CancelAll();
  EXPECT_TRUE(absl::IsCancelled(pulls_.Take().status()));
  auto second = calls_.Take();
  owned.reset();
  EXPECT_TRUE(absl::IsCancelled(pulls_.Take().status()));
}

TEST_F(PsClientTest, CallsSurviveAServerThatIsRestartedOnTheSamePort) {
  std::vector<float> blocks(20);
  PsClient client(Options());
  const int port = server_->port();
  for (int batch = 0; batch < 20; ++batch)
    Pull(&client, batch, {absl::MakeSpan(&blocks[batch], 1)});
  std::vector<std::unique_ptr<RawCall>> lost;
  for (int i = 0; i < 20; ++i) lost.push_back(calls_.Take());
  server_->Shutdown(absl::ZeroDuration());
  server_.reset();
  lost.clear();
  CallBox calls_of_next;
  server_ = StartServer(&calls_of_next, port);
  for (int i = 0; i < 20; ++i) {
    auto call = calls_of_next.Take();
    const int64_t batch = HeaderOf<proto::PullHeader>(call.get()).batch();
    call->Reply(PullReply({static_cast<float>(batch)}));
  }
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(pulls_.Take().ok());
  for (int batch = 0; batch < 20; ++batch) EXPECT_EQ(blocks[batch], batch);
  server_.reset();
}

TEST_F(PsClientTest, OnOneMachineTensorsTravelInSharedMemory) {
  PsClient client(Options());
  const auto memory = PushUntilMemoryIsShared(&client);
  ASSERT_NE(memory, nullptr);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(PushAndAnswer(&client).memory, memory);
}

TEST_F(PsClientTest, SharedMemoryCanBeDeclined) {
  auto options = Options();
  options.share_memory = false;
  PsClient client(options);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(PushAndAnswer(&client).memory, nullptr);
}

TEST_F(PsClientTest, PullsUseSharedMemoryToo) {
  PsClient client(Options());
  PushUntilMemoryIsShared(&client);
  std::vector<float> block(1000);
  Pull(&client, 1, {absl::MakeSpan(block)});
  auto call = calls_.Take();
  proto::PullHeader header;
  const auto reader = FrameReader::Open(call->TakeRequest(), &header);
  ASSERT_TRUE(reader.ok() && reader->reply_room().payload.memory != nullptr);
  const Frame reply = PullReply(std::vector<float>(1000, 8.0f), 1, reader->reply_room().payload);
  EXPECT_LT(reply.bytes(), 500u);
  call->Reply(reply);
  EXPECT_TRUE(pulls_.Take().ok());
  EXPECT_EQ(block, std::vector<float>(1000, 8.0f));
}

// What lies in shared memory may be spoiled by either side; the checksums tell.
TEST_F(PsClientTest, ReplyThatWasSpoiledInSharedMemoryIsAskedForAgainOverTcp) {
  PsClient client(Options());
  PushUntilMemoryIsShared(&client);
  std::vector<float> gradient(1000, 1.5f), values(1000);
  StartPush(&client, gradient, absl::MakeSpan(values));
  auto call = calls_.Take();
  proto::PushHeader header;
  auto reader = FrameReader::Open(call->TakeRequest(), &header);
  ASSERT_TRUE(reader.ok());
  const SharedSpan room = reader->reply_room().payload;
  ASSERT_NE(room.memory, nullptr);
  proto::PushReplyHeader reply;
  reply.add_versions(1);
  const Frame frame = *EncodeFrame(reply, {FramePiece::Borrowed(gradient)}, {.payload = room});
  room.data()[1234] ^= 1;
  call->Reply(frame);
  auto again = calls_.Take();
  EXPECT_EQ(AnswerPush(again.get()).memory, nullptr);
  EXPECT_TRUE(pushes_.Take().ok());
  EXPECT_EQ(values, std::vector<float>(1000, 3.0f));
  // And what comes late into the memory that was given up hurts nobody.
  std::memset(room.data(), 0xff, room.bytes);
  EXPECT_NE(PushUntilMemoryIsShared(&client), room.memory);
}

TEST_F(PsClientTest, RequestThatWasSpoiledInSharedMemoryIsSentAgainOverTcp) {
  PsClient client(Options());
  PushUntilMemoryIsShared(&client);
  std::vector<float> gradient(1000, 1.5f), values(1000);
  StartPush(&client, gradient, absl::MakeSpan(values));
  auto call = calls_.Take();
  call->Fail(absl::DataLossError("wrong checksum"));
  auto again = calls_.Take();
  EXPECT_EQ(AnswerPush(again.get()).memory, nullptr);
  EXPECT_TRUE(pushes_.Take().ok());
  EXPECT_EQ(values, std::vector<float>(1000, 3.0f));
}

TEST_F(PsClientTest, ServerThatIsRestartedDoesNotKnowTheMemoryAndGetsOther) {
  PsClient client(Options());
  const int port = server_->port();
  const auto memory = PushUntilMemoryIsShared(&client);
  server_.reset();
  server_ = StartServer(&calls_, port);
  std::vector<float> gradient(1000, 1.5f), values(1000);
  StartPush(&client, gradient, absl::MakeSpan(values));
  // The first one that arrives may name memory that this server has never seen.
  while (pushes_.empty()) {
    auto call = calls_.Take();
    EXPECT_NE(AnswerPush(call.get()).memory, memory);
    const absl::Time deadline = absl::Now() + kPatience;
    while (pushes_.empty() && calls_.empty() && absl::Now() < deadline) {
      absl::SleepFor(absl::Milliseconds(1));
    }
  }
  EXPECT_TRUE(pushes_.Take().ok());
  EXPECT_EQ(values, std::vector<float>(1000, 3.0f));
  EXPECT_NE(PushUntilMemoryIsShared(&client), memory);
}

TEST_F(PsClientTest, SmallTensorsAndThoseThatDoNotFitInSharedMemoryUseTcp) {
  PsClient client(Options());
  const auto memory = PushUntilMemoryIsShared(&client);
  for (const size_t count : {size_t{64}, memory->bytes() / sizeof(float) + 1}) {
    std::vector<float> gradient(count, 1.5f), values(count);
    StartPush(&client, gradient, absl::MakeSpan(values));
    EXPECT_EQ(AnswerPush(calls_.Take().get()).memory, nullptr);
    EXPECT_TRUE(pushes_.Take().ok() && values.back() == 3.0f);
  }
  EXPECT_EQ(PushAndAnswer(&client).memory, memory);
}

TEST_F(PsClientTest, PsThatIsNotThereYetIsWaitedFor) {
  const int port = server_->port();
  PsClient client(Options());
  server_.reset();
  Pull(&client, 1, {});
  server_ = StartServer(&calls_, port);
  proto::PullReplyHeader header;
  calls_.Take()->Reply(*EncodeFrame(header, {}));
  EXPECT_TRUE(pulls_.Take().ok());
}

// The time since the silence began, or zero.
absl::Duration SilenceOf(const PsClient& client, int ps) {
  const auto silence = client.LongestSilence();
  return silence.has_value() && silence->ps == ps ? silence->duration : absl::ZeroDuration();
}

// Whether the condition becomes true in time.
template <typename Condition>
bool Soon(Condition condition) {
  const absl::Time deadline = absl::Now() + kPatience;
  while (!condition() && absl::Now() < deadline) absl::SleepFor(absl::Milliseconds(1));
  return condition();
}

TEST_F(PsClientTest, APsThatIsAbsentIsSilentUntilItIsThereAlsoWithoutRequests) {
  PsClientOptions options = Options();
  options.addresses = {AddressOf(*server_), absl::StrCat("127.0.0.1:", testing::FreePort())};
  PsClient client(options);
  EXPECT_FALSE(client.LongestSilence().has_value());
  std::vector<float> block(1);
  Pull(&client, 1, {absl::MakeSpan(block)});
  calls_.Take()->Reply(PullReply({1}));
  ASSERT_TRUE(pulls_.Take().ok());
  const absl::Time begun = absl::Now();
  client.Pull(1, PullOf(1, 0), {}, [this](PullResult result) { pulls_.Put(std::move(result)); });
  EXPECT_TRUE(Soon([&] { return SilenceOf(client, 1) > absl::Milliseconds(300); }));
  EXPECT_LE(SilenceOf(client, 1), absl::Now() - begun);
  client.CancelAll();
  EXPECT_TRUE(absl::IsCancelled(pulls_.Take().status()));
  EXPECT_GT(SilenceOf(client, 1), absl::Milliseconds(300));
}

TEST_F(PsClientTest, ASilenceEndsWithTheAnswerToAPing) {
  const int port = server_->port();
  PsClient client(Options());
  server_.reset();
  Pull(&client, 1, {}, kSomeGroup);
  ASSERT_TRUE(Soon([&] { return client.LongestSilence().has_value(); }));
  client.Cancel(kSomeGroup);
  EXPECT_TRUE(absl::IsCancelled(pulls_.Take().status()));
  EXPECT_TRUE(client.LongestSilence().has_value());
  server_ = StartServer(&calls_, port);
  EXPECT_TRUE(Soon([&] { return !client.LongestSilence().has_value(); }));
}

TEST_F(PsClientTest, APingFindsOutWhichPsAreSilent) {
  PsClientOptions options = Options();
  options.addresses = {absl::StrCat("127.0.0.1:", testing::FreePort()), AddressOf(*server_),
                       absl::StrCat("127.0.0.1:", testing::FreePort())};
  PsClient client(options);
  const auto silent = [&] {
    std::vector<int> list;
    for (const PsClient::Silence& silence : client.Silences()) list.push_back(silence.ps);
    return list;
  };
  EXPECT_TRUE(silent().empty());
  for (const int ps : {2, 1, 0, 0}) client.Ping(ps);
  EXPECT_TRUE(Soon([&] { return silent() == std::vector<int>({0, 2}); }));
  const auto server = StartServer(&calls_, std::stoi(options.addresses[0].substr(10)));
  EXPECT_TRUE(Soon([&] { return silent() == std::vector<int>({2}); }));
}

TEST_F(PsClientTest, ARequestThatIsParkedForLongerThanAnAttemptIsNoSilence) {
  PsClientOptions options = Options();
  options.attempt_timeout = absl::Seconds(1);
  PsClient client(options);
  Pull(&client, 1, {});
  std::vector<std::unique_ptr<RawCall>> parked;
  // The ping at the end of an attempt has its answer long before the end of the next one.
  for (int attempt = 0; attempt < 3; ++attempt) {
    parked.push_back(calls_.Take());
    EXPECT_TRUE(Soon([&] { return !client.LongestSilence().has_value(); }));
  }
  parked.push_back(calls_.Take());
  parked.back()->Reply(*EncodeFrame(proto::PullReplyHeader(), {}));
  EXPECT_TRUE(pulls_.Take().ok());
}

// It takes connections and answers nothing.
TEST_F(PsClientTest, APsThatHangsIsSilent) {
  grpc::ServerBuilder builder;
  grpc::AsyncGenericService service;
  const std::string address = absl::StrCat("127.0.0.1:", testing::FreePort());
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.RegisterAsyncGenericService(&service);
  const std::unique_ptr<grpc::ServerCompletionQueue> queue = builder.AddCompletionQueue();
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  {
    PsClientOptions options = Options();
    options.addresses = {address};
    options.attempt_timeout = options.ping_timeout = absl::Milliseconds(100);
    PsClient client(options);
    Pull(&client, 1, {});
    EXPECT_TRUE(Soon([&] { return SilenceOf(client, 0) > absl::Seconds(2); }));
  }
  EXPECT_TRUE(absl::IsCancelled(pulls_.Take().status()));
  server->Shutdown(std::chrono::system_clock::now());
  queue->Shutdown();
  void* tag;
  bool ok;
  while (queue->Next(&tag, &ok)) {
  }
}

class OwnPsTest : public PsClientTest {
 protected:
  PsClientOptions Options() {
    PsClientOptions options = PsClientTest::Options();
    options.own = {0, server_};
    return options;
  }
};

TEST_F(OwnPsTest, TensorsAreNotEncoded) {
  PsClient client(Options());
  std::vector<float> gradient(1000, 1.5f), values(1000);
  StartPush(&client, gradient, absl::MakeSpan(values));
  auto call = calls_.Take();
  EXPECT_EQ(call->peer(), "worker 3 of this process");
  const Frame request = call->TakeRequest();
  ASSERT_NE(request.parts(), nullptr);
  ASSERT_EQ(request.parts()->pieces.size(), 1u);
  EXPECT_EQ(request.parts()->pieces[0].data, gradient.data());
  proto::PushHeader header;
  const auto reader = FrameReader::Open(request, &header);
  ASSERT_TRUE(reader.ok()) << reader.status();
  proto::PushReplyHeader reply;
  reply.add_versions(1);
  const auto owner = std::make_shared<std::vector<float>>(1000, 4.0f);
  call->Reply(*EncodeFrame(reply, {FramePiece::OfFloats(*owner, owner)}, reader->reply_room()));
  EXPECT_TRUE(pushes_.Take().ok());
  EXPECT_EQ(values, *owner);
}

TEST_F(OwnPsTest, OtherPsAreCalledOverTheNetwork) {
  CallBox others;
  const auto other = StartServer(&others);
  PsClientOptions options = Options();
  options.addresses.push_back(AddressOf(*other));
  PsClient client(options);
  std::vector<float> block(1);
  client.Pull(1, PullOf(1, 1), {absl::MakeSpan(block)},
              [this](PullResult result) { pulls_.Put(std::move(result)); });
  auto call = others.Take();
  EXPECT_EQ(call->TakeRequest().parts(), nullptr);
  call->Reply(PullReply({5.0f}));
  EXPECT_TRUE(pulls_.Take().ok());
  EXPECT_EQ(block[0], 5.0f);
}

// Answers, cancellations and deadlines at the same moments.
TEST_F(OwnPsTest, EachCallHasOneResultHoweverItEnds) {
  constexpr int kCalls = 2000;
  PsClientOptions options = Options();
  options.attempt_timeout = absl::Milliseconds(1);
  options.first_delay = options.max_delay = absl::Milliseconds(1);
  PsClient client(options);
  std::atomic<bool> done = false;
  std::thread ps([&] {
    for (int i = 0; !done; ++i) {
      if (calls_.empty()) continue;
      auto call = calls_.Take();
      if (i % 3 == 0) call.reset();
      if (i % 3 == 1) call->Fail(absl::UnavailableError("soon"));
      if (i % 3 == 2) call->Reply(PullReply({5.0f}));
    }
  });
  std::vector<float> blocks(kCalls);
  for (int i = 0; i < kCalls; ++i) {
    Pull(&client, i, {absl::MakeSpan(&blocks[i], 1)}, i % 2 == 0 ? kSomeGroup : 0);
    if (i % 10 == 9) client.Cancel(kSomeGroup);
  }
  client.Cancel(kSomeGroup);
  for (int i = 0; i < kCalls; ++i) {
    const PullResult result = pulls_.Take();
    EXPECT_TRUE(result.ok() || absl::IsCancelled(result.status())) << result.status();
  }
  for (int i = 1; i < kCalls; i += 2) EXPECT_EQ(blocks[i], 5.0f);
  done = true;
  ps.join();
}

TEST_F(OwnPsTest, APsThatHasStoppedIsUnavailable) {
  PsClient client(Options());
  server_->Shutdown();
  Pull(&client, 1, {});
  absl::SleepFor(absl::Milliseconds(50));
  EXPECT_TRUE(pulls_.empty());
  client.CancelAll();
  EXPECT_TRUE(absl::IsCancelled(pulls_.Take().status()));
  EXPECT_TRUE(calls_.empty());
}

}  // namespace
}  // namespace cairn::cluster
