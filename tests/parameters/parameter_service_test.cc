#include "parameters/parameter_service.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cluster/data_server.h"
#include "cluster/ps_client.h"
#include "common/failpoint.h"
#include "common/version.h"
#include "nn/optimizers/square_sum.h"
#include "tests/parameters/test_disk.h"
#include "tests/parameters/test_store.h"

namespace cairn::parameters {
namespace {

using cluster::DataMethod;
using cluster::Frame;

constexpr uint64_t kClusterId = 99;

// The service with a job in its store and no network: calls are made and answered in memory.
class ParameterServiceTest : public ::testing::Test {
 protected:
  explicit ParameterServiceTest(const TestJobOptions& job = {},
                                const JobBlocks::Options& options = {},
                                int64_t pushed_bytes_max = int64_t{1} << 30)
      : test_(job, 1, 2, options), catalog_(0, disk_.store(), "") {
    uploads_ = std::make_unique<UploadStore>(disk_.store());
    for (const uint64_t job : {7, 8, 9}) uploads_->Expect(job, 1 << 20);
    service_ = std::make_unique<ParameterService>(
        ParameterService::Parts{.store = &test_.store,
                                .uploads = uploads_.get(),
                                .catalog = &catalog_,
                                .pool = &test_.pool,
                                .pushed_bytes_max = pushed_bytes_max});
    service_->set_cluster_id(kClusterId);
  }
  ~ParameterServiceTest() override {
    test_.store.Drop(absl::UnavailableError("the test ends"));
    service_.reset();
  }

  static proto::Envelope Envelope() {
    proto::Envelope envelope;
    envelope.set_version(kVersion);
    envelope.set_cluster_id(kClusterId);
    envelope.set_sender("worker 3");
    return envelope;
  }

  absl::StatusOr<Frame> CallRaw(DataMethod method, Frame request) {
    Mailbox<std::shared_ptr<absl::StatusOr<Frame>>> box;
    service_->Handle(std::make_unique<cluster::RawCall>(
        method, std::move(request), "test", [&](absl::StatusOr<Frame> answer) {
          box.Put(std::make_shared<absl::StatusOr<Frame>>(std::move(answer)));
        }));
    return *box.Take();
  }

  absl::StatusOr<Frame> Call(DataMethod method, const google::protobuf::MessageLite& header,
                             const std::vector<float>& payload = {}) {
    auto frame = cluster::EncodeFrame(header, {cluster::FramePiece::OfFloats(payload, nullptr)});
    return CallRaw(method, Frame::FromBytes(frame->ToBytes()));
  }

  proto::PushHeader PushOf(int64_t batch, std::vector<uint32_t> blocks) {
    proto::PushHeader header;
    *header.mutable_envelope() = Envelope();
    header.set_job_id(7);
    header.set_generation(1);
    header.set_batch(batch);
    header.set_examples(2);
    header.mutable_blocks()->Assign(blocks.begin(), blocks.end());
    return header;
  }

  proto::PullHeader PullOf(int64_t batch, std::vector<uint32_t> blocks) {
    proto::PullHeader header;
    *header.mutable_envelope() = Envelope();
    header.set_job_id(7);
    header.set_generation(1);
    header.set_batch(batch);
    header.mutable_blocks()->Assign(blocks.begin(), blocks.end());
    return header;
  }

  proto::UploadHeader UploadOf(int64_t rows, int64_t columns) {
    proto::UploadHeader header;
    *header.mutable_envelope() = Envelope();
    header.set_job_id(8);
    proto::UploadedBlock& block = *header.add_blocks();
    block.set_variable("other/kernel");
    block.add_variable_shape(rows);
    block.add_variable_shape(columns);
    block.set_row_end(rows);
    return header;
  }

  // Call it for each request that is refused: invalid ones are counted, and nothing else is.
  void ExpectRefused(const absl::StatusOr<Frame>& answer, absl::StatusCode code,
                     const std::vector<std::string>& parts) {
    EXPECT_EQ(answer.status().code(), code) << answer.status();
    invalid_ += code == absl::StatusCode::kInvalidArgument ? 1 : 0;
    EXPECT_EQ(test_.store.counters().invalid_requests, invalid_) << answer.status();
    for (const std::string& part : parts) {
      EXPECT_NE(answer.status().ToString().find(part), std::string::npos)
          << part << " is not in: " << answer.status();
    }
  }

  TestStore test_;
  TestDisk disk_;
  SnapshotCatalog catalog_;
  std::unique_ptr<UploadStore> uploads_;
  std::unique_ptr<ParameterService> service_;
  uint64_t invalid_ = 0;
};

TEST_F(ParameterServiceTest, APushAnswersWithValuesIfTheyAreWanted) {
  proto::PushHeader header = PushOf(0, {0});
  header.add_applied_blocks(1);
  header.set_want_values(true);
  auto answer = Call(DataMethod::kPush, header, std::vector<float>(24, -1));
  ASSERT_TRUE(answer.ok()) << answer.status();
  proto::PushReplyHeader reply;
  auto reader = cluster::FrameReader::Open(*answer, &reply);
  ASSERT_TRUE(reader.ok()) << reader.status();
  std::vector<float> values(24);
  ASSERT_TRUE(reader->Read(absl::MakeSpan(values)).ok());
  EXPECT_TRUE(reader->ExpectEnd().ok());
  EXPECT_EQ(values, std::vector<float>(24, 1));
  ASSERT_EQ(reply.versions_size(), 1);
  EXPECT_EQ(reply.versions(0), 1);
  EXPECT_EQ(reply.duplicates(), 0);
  answer = Call(DataMethod::kPush, header, std::vector<float>(24, -1));
  ASSERT_TRUE(cluster::FrameReader::Open(*answer, &reply).ok());
  EXPECT_EQ(reply.duplicates(), 2);
  EXPECT_EQ(test_.store.counters().duplicates_refused, 2u);
}

TEST_F(ParameterServiceTest, RejectsARequestForAnotherReceiverWithBothNames) {
  proto::PullHeader header = PullOf(0, {0});
  header.mutable_envelope()->set_version("0.0.9");
  ExpectRefused(Call(DataMethod::kPull, header), absl::StatusCode::kFailedPrecondition,
                {"worker 3", "0.0.9", kVersion});
  header = PullOf(0, {0});
  header.mutable_envelope()->set_cluster_id(5);
  ExpectRefused(Call(DataMethod::kPull, header), absl::StatusCode::kFailedPrecondition,
                {"cluster 5", "to 63"});
  header = PullOf(0, {0});
  header.mutable_envelope()->set_receiver(2);
  ExpectRefused(Call(DataMethod::kPull, header), absl::StatusCode::kFailedPrecondition,
                {"wants ps 2, this is ps 0"});
  header = PullOf(0, {0});
  header.set_generation(9);
  ExpectRefused(Call(DataMethod::kPull, header), absl::StatusCode::kFailedPrecondition,
                {"generation 1", "generation 9"});
  service_->set_cluster_id(0);
  ExpectRefused(Call(DataMethod::kPull, PullOf(0, {0})), absl::StatusCode::kUnavailable, {});
}

TEST_F(ParameterServiceTest, WrongSizesAndNumbersAreRefusedAndChangeNothing) {
  const auto code = absl::StatusCode::kInvalidArgument;
  ExpectRefused(Call(DataMethod::kPush, PushOf(0, {0}), std::vector<float>(23)), code,
                {"hidden/kernel", "92 bytes, expected 96"});
  ExpectRefused(Call(DataMethod::kPush, PushOf(0, {0}), std::vector<float>(25)), code,
                {"100 bytes, expected 96"});
  ExpectRefused(Call(DataMethod::kPush, PushOf(0, {})), code, {"names no block"});
  ExpectRefused(Call(DataMethod::kPush, PushOf(0, {77})), code, {"block 77 does not exist"});
  ExpectRefused(Call(DataMethod::kPush, PushOf(100, {0}), std::vector<float>(24)), code,
                {"batch 100"});
  ExpectRefused(Call(DataMethod::kPush, PushOf(-1, {0}), std::vector<float>(24)), code, {});
  proto::PushHeader header = PushOf(0, {0});
  header.set_examples(129);
  ExpectRefused(Call(DataMethod::kPush, header, std::vector<float>(24)), code,
                {"129 examples, expected 1 to 128"});
  header.set_examples(0);
  ExpectRefused(Call(DataMethod::kPush, header, std::vector<float>(24)), code,
                {"0 examples, expected 1 to 128"});
  header = PushOf(0, {});
  header.add_applied_blocks(0);
  ExpectRefused(Call(DataMethod::kPush, header, {1}), code, {});
  ExpectRefused(Call(DataMethod::kPush, PushOf(0, std::vector<uint32_t>(1000, 0))), code,
                {"1000 blocks"});
  ExpectRefused(Call(DataMethod::kPull, PullOf(100, {0})), code, {"batch 100"});
  ExpectRefused(Call(DataMethod::kPull, PullOf(0, {})), code, {"no block"});
  ExpectRefused(Call(DataMethod::kPull, PullOf(0, {0}), {1}), code, {});
  proto::PullHeader nothing = PullOf(0, {0});
  nothing.clear_source();
  ExpectRefused(Call(DataMethod::kPull, nothing), code, {"neither"});
  nothing.set_cut(3);
  ExpectRefused(Call(DataMethod::kPull, nothing), absl::StatusCode::kNotFound, {"cut 3"});
  EXPECT_EQ(test_.store.Ledgers().applied_on_any().low_water(), 0);
  EXPECT_EQ(test_.store.Ledgers().applied_on_any().above(), "");
}

TEST_F(ParameterServiceTest, AnUploadThatNobodyExpectsLeavesNothingOnTheDisk) {
  proto::UploadHeader header = UploadOf(1, 2);
  header.set_job_id(99);
  ExpectRefused(Call(DataMethod::kUpload, header, {1, 2}), absl::StatusCode::kUnavailable,
                {"job 99 are not expected"});
  EXPECT_TRUE(disk_.store()->ListSnapshots(99)->empty());
  EXPECT_EQ(uploads_->refused(), 1u);
}

TEST_F(ParameterServiceTest, UploadsOfImpossibleSizesAreRefused) {
  const auto code = absl::StatusCode::kInvalidArgument;
  ExpectRefused(Call(DataMethod::kUpload, UploadOf(int64_t{1} << 40, int64_t{1} << 40)), code, {});
  ExpectRefused(Call(DataMethod::kUpload, UploadOf(1 << 20, 1 << 20), {1}), code,
                {"4 bytes of values", "other/kernel"});
  ExpectRefused(Call(DataMethod::kUpload, UploadOf(0, 2)), code, {});
  ExpectRefused(Call(DataMethod::kUpload, UploadOf(1, 1), {1, 2}), code, {});
  proto::UploadHeader twice = UploadOf(1, 1);
  *twice.add_blocks() = twice.blocks(0);
  const std::vector<float> value = {1};
  const auto piece = [&] { return cluster::FramePiece::OfFloats(value, nullptr); };
  const auto frame = cluster::EncodeFrame(twice, {piece(), piece()});
  ExpectRefused(CallRaw(DataMethod::kUpload, Frame::FromBytes(frame->ToBytes())), code,
                {"block 0 occurs twice"});
  proto::UploadHeader running = UploadOf(1, 1);
  running.set_job_id(7);
  ExpectRefused(Call(DataMethod::kUpload, running, {1}), absl::StatusCode::kFailedPrecondition,
                {"too late"});
  EXPECT_TRUE(Call(DataMethod::kUpload, UploadOf(1, 2), {1, 2}).ok());
}

TEST_F(ParameterServiceTest, ReplicasInMemoryAreReadThoughTheDiskHangs) {
  ASSERT_TRUE(ArmFailpoint("ps.pull_checkpoint=hang@1-1000").ok());
  constexpr int kPulls = 8;  // More than the disk has threads.
  Mailbox<absl::StatusCode> answers;
  for (int i = 0; i < kPulls; ++i) {
    proto::PullHeader header = PullOf(0, {0});
    header.set_checkpoint(1);
    auto frame = cluster::EncodeFrame(header, {});
    service_->Handle(std::make_unique<cluster::RawCall>(
        DataMethod::kPull, Frame::FromBytes(frame->ToBytes()), "test",
        [&](const absl::StatusOr<Frame>& answer) { answers.Put(answer.status().code()); }));
  }
  proto::FetchHeader header;
  *header.mutable_envelope() = Envelope();
  header.set_job_id(99);
  header.add_blocks(0);
  header.mutable_replica()->set_version(1);
  ExpectRefused(Call(DataMethod::kFetch, header), absl::StatusCode::kNotFound,
                {"no replicas of job 99 are in memory here"});
  EXPECT_EQ(answers.size(), 0u);
  DisarmFailpoints();
  for (int i = 0; i < kPulls; ++i) EXPECT_EQ(answers.Take(), absl::StatusCode::kNotFound);
}

TEST_F(ParameterServiceTest, ArbitraryBytesAreRejected) {
  const std::string good = cluster::EncodeFrame(PushOf(0, {0}), {})->ToBytes();
  std::mt19937 random(5);
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = good;
    const size_t changes = 1 + random() % 4;
    for (size_t change = 0; change < changes; ++change) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    const auto method = static_cast<DataMethod>(random() % 3);
    EXPECT_FALSE(CallRaw(method, Frame::FromBytes(bytes)).ok());
  }
  EXPECT_FALSE(CallRaw(DataMethod::kPull, Frame()).ok());
}

class ClippedServiceTest : public ParameterServiceTest {
 protected:
  static TestJobOptions Job() {
    TestJobOptions job;
    job.synchronous = true;
    job.batches_per_update = 2;
    job.global_clipnorm = 1;
    return job;
  }
  ClippedServiceTest() : ParameterServiceTest(Job()) {}

  proto::PushHeader ScalesOf(int64_t batch, std::vector<uint32_t> blocks,
                             std::vector<float> scales) {
    proto::PushHeader header = PushOf(batch, {});
    header.clear_examples();
    header.mutable_apply()->mutable_blocks()->Assign(blocks.begin(), blocks.end());
    header.mutable_apply()->mutable_scales()->Assign(scales.begin(), scales.end());
    return header;
  }
  // The first of the update's batches; its answer waits.
  void PushFirst() {
    const std::vector<float> kernel(24, -4), bias(6, -4);
    auto frame =
        cluster::EncodeFrame(PushOf(0, {0, 1}), {cluster::FramePiece::OfFloats(kernel, nullptr),
                                                 cluster::FramePiece::OfFloats(bias, nullptr)});
    service_->Handle(std::make_unique<cluster::RawCall>(
        DataMethod::kPush, Frame::FromBytes(frame->ToBytes()), "test",
        [this](const absl::StatusOr<Frame>& answer) { first_.Put(answer.ok()); }));
  }
  absl::StatusOr<Frame> PushSecond() {
    proto::PushHeader header = PushOf(1, {0});
    header.add_applied_blocks(1);
    return Call(DataMethod::kPush, header, std::vector<float>(24, -4));
  }
  float ValueOf(uint32_t block) { return test_.store.current()->Capture()[block].values.data()[0]; }

  Mailbox<bool> first_;
};

TEST_F(ClippedServiceTest, APushTellsTheSumsAndScalesApplyTheUpdate) {
  PushFirst();
  proto::PushReplyHeader reply;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(cluster::FrameReader::Open(*PushSecond(), &reply).ok());
    ASSERT_EQ(reply.sums_size(), 2);
    const proto::SquareSum& kernel = reply.sums(0);
    EXPECT_EQ(nn::SquareSum::FromWords(kernel.words(), !kernel.infinite())->value(), 24 * 16);
    const proto::SquareSum& bias = reply.sums(1);
    EXPECT_EQ(nn::SquareSum::FromWords(bias.words(), !bias.infinite())->value(), 6 * 4);
    EXPECT_EQ(ValueOf(0), 0);
  }
  EXPECT_TRUE(first_.Take());
  for (int i = 0; i < 2; ++i) {
    const auto applied = Call(DataMethod::kPush, ScalesOf(0, {0, 1}, {0.5, 0.5}));
    EXPECT_TRUE(applied.ok()) << applied.status();
    EXPECT_EQ(ValueOf(0), 2);
    EXPECT_EQ(ValueOf(1), 1);
  }
}

TEST_F(ClippedServiceTest, ScalesThatMakeNoSenseAreRefusedAndChangeNothing) {
  PushFirst();
  ASSERT_TRUE(PushSecond().ok());
  const auto code = absl::StatusCode::kInvalidArgument;
  const auto call = [&](const proto::PushHeader& header, const std::vector<float>& payload = {}) {
    return Call(DataMethod::kPush, header, payload);
  };
  ExpectRefused(call(ScalesOf(0, {0, 1}, {0.5})), code, {"2 blocks with 1 scales"});
  ExpectRefused(call(ScalesOf(0, {}, {})), code, {"0 blocks"});
  ExpectRefused(call(ScalesOf(0, {77}, {1})), code, {"block 77 does not exist"});
  ExpectRefused(call(ScalesOf(100, {0}, {1})), code, {"batch 100"});
  ExpectRefused(call(ScalesOf(0, {0}, {1.5})), code, {"hidden/kernel", "is 1.5"});
  ExpectRefused(call(ScalesOf(0, {0}, {-1})), code, {"hidden/kernel", "is -1"});
  ExpectRefused(call(ScalesOf(0, {0}, {NAN})), code, {"hidden/kernel", "is nan"});
  ExpectRefused(call(ScalesOf(0, {0}, {1}), {1}), code, {});
  proto::PushHeader both = ScalesOf(0, {0}, {1});
  both.add_applied_blocks(1);
  ExpectRefused(call(both), code, {"1 gradients"});
  ExpectRefused(call(ScalesOf(2, {0}, {1})), absl::StatusCode::kFailedPrecondition,
                {"before all of its batches"});
  proto::PushHeader old = ScalesOf(0, {0}, {1});
  old.set_generation(9);
  ExpectRefused(call(old), absl::StatusCode::kFailedPrecondition, {"generation 9"});
  EXPECT_EQ(ValueOf(0), 0);
}

// A ps of which the network is real and too small: it takes 8 calls, and lets 4 pulls wait.
class CrowdedServiceTest : public ::testing::Test {
 protected:
  static constexpr int kWorkers = 3;
  static TestJobOptions Job() {
    TestJobOptions job;
    job.synchronous = true;
    job.batches_per_update = kWorkers;
    return job;
  }
  CrowdedServiceTest()
      : catalog_(0, disk_.store(), ""),
        uploads_(disk_.store()),
        service_({0, &test_.store, &uploads_, &catalog_, &test_.pool}) {
    service_.set_cluster_id(kClusterId);
    cluster::DataServerOptions options;
    options.address = "127.0.0.1:0";
    options.calls_max = 8;
    auto server = cluster::DataServer::Start(
        options, [this](auto call) { service_.Handle(std::move(call)); });
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    cluster::PsClientOptions client;
    client.addresses = {absl::StrCat("127.0.0.1:", server_->port())};
    client.cluster_id = kClusterId;
    client.sender = "worker 0";
    client.max_delay = absl::Milliseconds(50);
    client_ = std::make_unique<cluster::PsClient>(client);
  }
  ~CrowdedServiceTest() override {
    client_.reset();
    server_.reset();
    test_.store.Drop(absl::UnavailableError("the test ends"));
  }

  // One request for each block that is pushed.
  std::vector<int> Blocks() const {
    std::vector<int> positions;
    for (const BlockPush& push : pushes_) positions.push_back(push.position);
    return positions;
  }
  void Pull(int64_t batch) {
    for (const int position : Blocks()) {
      const BlockSpec& block = test_.layout->blocks()[position];
      proto::PullHeader header;
      header.set_job_id(7);
      header.set_generation(1);
      header.set_batch(batch);
      header.add_blocks(block.id);
      auto values = std::make_shared<std::vector<float>>(block.count);
      client_->Pull(0, header, {absl::MakeSpan(*values)},
                    [this, values](auto result) { pulled_.Put(result.ok()); });
    }
  }
  void Push(int64_t batch) {
    for (const int position : Blocks()) {
      const BlockSpec& block = test_.layout->blocks()[position];
      proto::PushHeader header;
      header.set_job_id(7);
      header.set_generation(1);
      header.set_batch(batch);
      header.set_examples(1);
      header.add_blocks(block.id);
      auto gradient = std::make_shared<std::vector<float>>(block.count, -1.0f);
      client_->Push(0, header, {cluster::FramePiece::OfFloats(*gradient, gradient)}, {},
                    [this](auto result) { pushed_.Put(result.ok()); });
    }
  }

  TestStore test_{Job(), 1, 2, {.waiting_pulls_max = 4}};
  const std::vector<BlockPush> pushes_ = test_.Pushes(0, 0);
  TestDisk disk_;
  SnapshotCatalog catalog_;
  UploadStore uploads_;
  ParameterService service_;
  std::unique_ptr<cluster::DataServer> server_;
  std::unique_ptr<cluster::PsClient> client_;
  Mailbox<bool> pulled_;
  Mailbox<bool> pushed_;
};

// The third worker is slow: the others have pushed, and want the next update's values already.
TEST_F(CrowdedServiceTest, TheLastWorkersPullAndPushGetInHoweverManyOthersWait) {
  constexpr int64_t kUpdates = 3;
  for (int64_t first = 0; first < kUpdates * kWorkers; first += kWorkers) {
    for (int64_t batch = first; batch < first + kWorkers - 1; ++batch) {
      Push(batch);
      if (batch + kWorkers < kUpdates * kWorkers) Pull(batch + kWorkers);
    }
    Pull(first + kWorkers - 1);
    Push(first + kWorkers - 1);
    for (size_t i = 0; i < kWorkers * pushes_.size(); ++i) EXPECT_TRUE(pushed_.Take());
  }
  const size_t pulls = (kUpdates + (kUpdates - 1) * (kWorkers - 1)) * pushes_.size();
  for (size_t i = 0; i < pulls; ++i) EXPECT_TRUE(pulled_.Take());
  EXPECT_EQ(test_.store.Ledgers().applied_on_all().low_water(), kUpdates * kWorkers);
}

// Calls that wait at a synchronous block whose update is not complete, without a network.
class ParkedCallsTest : public ParameterServiceTest {
 protected:
  ParkedCallsTest() : ParameterServiceTest(Job(), {.waiting_pulls_max = 4}) {}
  ~ParkedCallsTest() override { test_.store.Drop(absl::UnavailableError("the test ends")); }
  static TestJobOptions Job() {
    TestJobOptions job;
    job.synchronous = true;
    job.batches_per_update = 2;
    return job;
  }

  void Send(DataMethod method, const google::protobuf::MessageLite& header,
            const std::vector<float>& payload = {}) {
    auto frame = cluster::EncodeFrame(header, {cluster::FramePiece::OfFloats(payload, nullptr)});
    service_->Handle(std::make_unique<cluster::RawCall>(
        method, Frame::FromBytes(frame->ToBytes()), "test",
        [this](const absl::StatusOr<Frame>& answer) { answers_.Put(answer.status().code()); },
        [this] { return given_up_.load(); }));
  }
  // When all calls before have arrived at the block, which answers this one at once.
  void ExpectNoAnswerBut(const std::vector<absl::StatusCode>& expected) {
    ASSERT_TRUE(Call(DataMethod::kPull, PullOf(0, {kBlock})).ok());
    for (const absl::StatusCode code : expected) EXPECT_EQ(answers_.Take(), code);
    EXPECT_EQ(answers_.size(), 0u);
  }

  static constexpr uint32_t kBlock = 0;
  Mailbox<absl::StatusCode> answers_;
  std::atomic<bool> given_up_ = false;
};

TEST_F(ParkedCallsTest, PullsOfClientsThatHaveGivenUpMakeRoom) {
  for (int i = 0; i < 4; ++i) Send(DataMethod::kPull, PullOf(2, {kBlock}));
  ExpectNoAnswerBut({});
  Send(DataMethod::kPull, PullOf(2, {kBlock}));
  ExpectNoAnswerBut({absl::StatusCode::kResourceExhausted});
  // The deadlines of their attempts have passed.
  given_up_ = true;
  Send(DataMethod::kPull, PullOf(2, {kBlock}));
  std::vector<absl::StatusCode> dropped(4, absl::StatusCode::kCancelled);
  dropped.push_back(absl::StatusCode::kResourceExhausted);
  ExpectNoAnswerBut(dropped);
  given_up_ = false;
  for (int i = 0; i < 4; ++i) Send(DataMethod::kPull, PullOf(2, {kBlock}));
  ExpectNoAnswerBut({});
}

// A worker repeats a push when its attempt's deadline passes, for as long as the update lacks a
// batch.
TEST_F(ParkedCallsTest, OfARepeatedPushTheLastWaitsAndTheGradientCountsOnce) {
  constexpr int kRepetitions = 100;
  const std::vector<float> gradient(test_.layout->blocks()[kBlock].count, -1.0f);
  for (int i = 0; i < kRepetitions; ++i) Send(DataMethod::kPush, PushOf(0, {kBlock}), gradient);
  ExpectNoAnswerBut(
      std::vector<absl::StatusCode>(kRepetitions - 1, absl::StatusCode::kUnavailable));
  ASSERT_TRUE(Call(DataMethod::kPush, PushOf(1, {kBlock}), gradient).ok());
  EXPECT_EQ(answers_.Take(), absl::StatusCode::kOk);
  EXPECT_EQ(test_.store.current()->Capture()[kBlock].values.data()[0], 1) << "the mean of both";
}

// A ps whose owner threads hang: the gradients of pushes stay in their queues.
class QueuedPushesTest : public ParameterServiceTest {
 protected:
  static constexpr uint32_t kBlock = 0;
  static constexpr int64_t kElements = 24;
  // Room for four pushes, and for two of each connection.
  QueuedPushesTest() : ParameterServiceTest({}, {}, 4 * kElements * sizeof(float)) {
    EXPECT_TRUE(ArmFailpoint("block.ledger_tested=hang@1-1000").ok());
  }
  ~QueuedPushesTest() override { DisarmFailpoints(); }

  void Push(const std::string& peer, int64_t batch) {
    const std::vector<float> gradient(kElements, -1.0f);
    auto frame = cluster::EncodeFrame(PushOf(batch, {kBlock}),
                                      {cluster::FramePiece::OfFloats(gradient, nullptr)});
    service_->Handle(std::make_unique<cluster::RawCall>(
        DataMethod::kPush, Frame::FromBytes(frame->ToBytes()), peer,
        [this](const absl::StatusOr<Frame>& answer) { answers_.Put(answer.status().code()); }));
  }

  Mailbox<absl::StatusCode> answers_;
};

TEST_F(QueuedPushesTest, TheirBytesAreBoundedForEachConnectionAndInTotal) {
  int64_t batch = 0;
  for (const auto& [peer, refused] :
       std::vector<std::pair<std::string, int>>{{"a", 1}, {"b", 2}, {"c", 3}}) {
    const int taken = peer == "c" ? 0 : 2;
    for (int i = 0; i < taken; ++i) Push(peer, batch++);
    for (int i = 0; i < refused; ++i) {
      Push(peer, 99);
      EXPECT_EQ(answers_.Take(), absl::StatusCode::kResourceExhausted) << peer << " " << i;
    }
  }
  EXPECT_EQ(answers_.size(), 0u);
  DisarmFailpoints();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(answers_.Take(), absl::StatusCode::kOk);
  Push("c", batch);
  EXPECT_EQ(answers_.Take(), absl::StatusCode::kOk) << "there is room again";
  EXPECT_EQ(test_.store.current()->Capture()[kBlock].values.data()[0], 5);
}

}  // namespace
}  // namespace cairn::parameters
