#include "parameters/ps_task.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cluster/partition_map.h"
#include "cluster/ps_client.h"
#include "nn/initializer.h"
#include "nn/model.h"
#include "tests/parameters/fake_coordinator.h"
#include "tests/parameters/test_store.h"

namespace cairn::parameters {
namespace {

using PullResult = absl::StatusOr<proto::PullReplyHeader>;
using PushResult = absl::StatusOr<proto::PushReplyHeader>;

// A complete ps with a coordinator and a worker, over gRPC.
class PsTaskTest : public ::testing::Test {
 protected:
  PsTaskTest() {
    std::string pattern = ::testing::TempDir() + "/ps-task-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    job_.optimizer = "adam";
    job_.learning_rate = 0.01;
    Start();
  }
  ~PsTaskTest() override {
    client_.reset();
    task_.reset();
    std::filesystem::remove_all(directory_);
  }

  // Starts or restarts the ps. Only its directory survives a restart.
  void Start() {
    client_.reset();
    task_.reset();
    PsTaskOptions options;
    options.bind_address = "127.0.0.1:0";
    options.own_address = "ps-0:2222";
    options.ps_addresses = {"ps-0:2222"};
    options.coordinator = coordinator_.address();
    options.directory = directory_;
    options.owner_threads = 2;
    auto started = PsTask::Start(options);
    ASSERT_TRUE(started.ok()) << started.status();
    task_ = *std::move(started);
    join_ = coordinator_.TakeJoin();
    cluster::PsClientOptions client;
    client.addresses = {absl::StrCat("127.0.0.1:", task_->port())};
    client.cluster_id = kClusterId;
    client.sender = "worker 0";
    client_ = std::make_unique<cluster::PsClient>(client);
  }

  proto::RestoreReply Restore(uint64_t generation, uint64_t checkpoint) {
    proto::Command command;
    *command.mutable_restore()->mutable_plan() = MakePlan(job_);
    command.mutable_restore()->set_generation(generation);
    command.mutable_restore()->set_checkpoint(checkpoint);
    coordinator_.Tell(command);
    return coordinator_.Take().restored();
  }

  proto::CutReply Cut(uint64_t generation, uint64_t cut) {
    proto::Command command;
    command.mutable_make_cut()->set_job_id(7);
    command.mutable_make_cut()->set_generation(generation);
    command.mutable_make_cut()->set_cut(cut);
    coordinator_.Tell(command);
    return coordinator_.Take().cut();
  }

  proto::PersistReply Persist(uint64_t generation, uint64_t cut) {
    proto::Command command;
    command.mutable_persist()->set_job_id(7);
    command.mutable_persist()->set_generation(generation);
    command.mutable_persist()->set_cut(cut);
    coordinator_.Tell(command);
    return coordinator_.Take().persisted();
  }

  void StopJob(bool delete_data) {
    proto::Command command;
    command.mutable_stop_job()->set_job_id(7);
    command.mutable_stop_job()->set_delete_data(delete_data);
    coordinator_.Tell(command);
    // The reply proves that the stop has been executed: lists come after deletions.
    command.mutable_list_snapshots()->set_job_id(7);
    coordinator_.Tell(command);
    EXPECT_EQ(coordinator_.Take().snapshots().job_id(), 7);
  }

  // All blocks of the job by id.
  std::vector<std::vector<float>> Empty() {
    const proto::PartitionMap map = MakePlan(job_).partition();
    std::vector<std::vector<float>> blocks;
    for (int id = 0; id < map.blocks_size(); ++id) {
      blocks.emplace_back(cluster::BlockElements(map, static_cast<uint32_t>(id)));
    }
    return blocks;
  }

  // Pulls all blocks of the job by id into `values`.
  PullResult Pull(proto::PullHeader header, std::vector<std::vector<float>>* values) {
    *values = Empty();
    std::vector<absl::Span<float>> destinations;
    header.set_job_id(7);
    for (size_t id = 0; id < values->size(); ++id) {
      header.add_blocks(static_cast<uint32_t>(id));
      destinations.push_back(absl::MakeSpan((*values)[id]));
    }
    Mailbox<std::shared_ptr<PullResult>> box;
    client_->Pull(0, std::move(header), std::move(destinations), [&](PullResult result) {
      box.Put(std::make_shared<PullResult>(std::move(result)));
    });
    return *box.Take();
  }
  PullResult PullBatch(uint64_t generation, int64_t batch,
                       std::vector<std::vector<float>>* values) {
    proto::PullHeader header;
    header.set_generation(generation);
    header.set_batch(batch);
    return Pull(std::move(header), values);
  }

  // Pushes gradients of the same value for all pushed blocks.
  PushResult Push(uint64_t generation, int64_t batch, float value) {
    const proto::PartitionMap map = MakePlan(job_).partition();
    std::vector<std::vector<float>> blocks = Empty();
    std::vector<cluster::FramePiece> pieces;
    proto::PushHeader header;
    header.set_job_id(7);
    header.set_generation(generation);
    header.set_batch(batch);
    header.set_examples(3);
    for (size_t id = 0; id < blocks.size(); ++id) {
      const auto& block = map.blocks(static_cast<int>(id));
      if (!map.variables(static_cast<int>(block.variable())).pushed()) continue;
      header.add_blocks(static_cast<uint32_t>(id));
      std::fill(blocks[id].begin(), blocks[id].end(), value);
      pieces.push_back(cluster::FramePiece::OfFloats(
          blocks[id], std::make_shared<std::vector<float>>(blocks[id])));
      pieces.back().data =
          static_cast<const std::vector<float>*>(pieces.back().owner.get())->data();
    }
    Mailbox<std::shared_ptr<PushResult>> box;
    client_->Push(0, std::move(header), std::move(pieces), {}, [&](PushResult result) {
      box.Put(std::make_shared<PushResult>(std::move(result)));
    });
    return *box.Take();
  }

  std::string directory_;
  TestJobOptions job_;
  FakeCoordinator coordinator_;
  std::unique_ptr<PsTask> task_;
  std::unique_ptr<cluster::PsClient> client_;
  proto::Join join_;
};

TEST_F(PsTaskTest, TheJoinHasRoleAndIndex) {
  EXPECT_EQ(join_.role(), proto::PS);
  EXPECT_EQ(join_.index(), 0);
  EXPECT_EQ(join_.address(), "ps-0:2222");
  ASSERT_EQ(join_.ps_addresses_size(), 1);
  EXPECT_EQ(join_.ps_addresses(0), "ps-0:2222");
  EXPECT_EQ(join_.job_id(), 0);
}

TEST_F(PsTaskTest, AJobStartsWithTheValuesOfItsInitializers) {
  std::vector<std::vector<float>> values;
  const PullResult before = PullBatch(1, 0, &values);
  EXPECT_EQ(before.status().code(), absl::StatusCode::kFailedPrecondition) << before.status();
  const proto::RestoreReply restored = Restore(1, 0);
  EXPECT_EQ(restored.error(), "");
  EXPECT_EQ(restored.ledger().blocks(), 6);
  const PullResult pulled = PullBatch(1, 0, &values);
  ASSERT_TRUE(pulled.ok()) << pulled.status();
  const auto layout = MakeLayout(job_);
  for (const BlockSpec& block : layout->blocks()) {
    std::vector<float> expected(block.count);
    nn::FillInitialValues(layout->variables()[block.variable], 11, block.begin,
                          block.begin + block.count, expected.data());
    EXPECT_EQ(values[block.id], expected) << block.name;
  }
}

TEST_F(PsTaskTest, ARepeatedPushIsAcknowledgedAndCountedButNotApplied) {
  Restore(1, 0);
  ASSERT_TRUE(Push(1, 0, 0.5f).ok());
  std::vector<std::vector<float>> once, twice;
  ASSERT_TRUE(PullBatch(1, 1, &once).ok());
  const PushResult again = Push(1, 0, 0.5f);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->duplicates(), 6);
  ASSERT_TRUE(PullBatch(1, 1, &twice).ok());
  EXPECT_EQ(once, twice);
  proto::Heartbeat heartbeat;
  while (heartbeat.duplicates_refused() == 0) heartbeat = coordinator_.TakeHeartbeat();
  EXPECT_EQ(heartbeat.duplicates_refused(), 6);
}

TEST_F(PsTaskTest, InvalidRequestsAreCountedInHeartbeats) {
  Restore(1, 0);
  EXPECT_EQ(coordinator_.TakeHeartbeat().messages_refused(), 0);
  const int64_t batches = MakeLayout(job_)->plan().total_batches();
  for (const int64_t batch : {int64_t{-1}, batches, batches + 1}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Push(1, batch, 0.5f).status())) << batch;
  }
  proto::Heartbeat heartbeat;
  while (heartbeat.messages_refused() < 3) heartbeat = coordinator_.TakeHeartbeat();
  EXPECT_EQ(heartbeat.messages_refused(), 3);
}

TEST_F(PsTaskTest, ARepeatedRestoreChangesNothing) {
  Restore(1, 0);
  ASSERT_TRUE(Push(1, 0, 0.5f).ok());
  std::vector<std::vector<float>> before, after;
  ASSERT_TRUE(PullBatch(1, 1, &before).ok());
  const proto::RestoreReply again = Restore(1, 0);
  EXPECT_EQ(again.error(), "");
  EXPECT_EQ(again.ledger().applied_on_all().low_water(), 1);
  ASSERT_TRUE(PullBatch(1, 1, &after).ok());
  EXPECT_EQ(before, after);
}

// A coordinator that has lost its journal starts again with the same job ids.
TEST_F(PsTaskTest, TheSameJobOfAnotherClusterIsAnotherJob) {
  EXPECT_EQ(join_.cluster_id(), 0u);
  Restore(1, 0);
  ASSERT_TRUE(Push(1, 0, 0.5f).ok());
  coordinator_.BecomeAnotherCluster();
  EXPECT_EQ(coordinator_.TakeJoin().cluster_id(), kClusterId);
  const proto::RestoreReply restored = Restore(1, 0);
  EXPECT_EQ(restored.error(), "");
  EXPECT_EQ(restored.ledger().applied_on_all().low_water(), 0);
}

TEST_F(PsTaskTest, TheJoinHasTheClusterOfTheSnapshots) {
  EXPECT_EQ(join_.keeps_cluster_id(), 0u);
  Start();
  EXPECT_EQ(join_.keeps_cluster_id(), 0u) << "it has none";
  Restore(1, 0);
  Cut(1, 1);
  EXPECT_EQ(Persist(1, 1).error(), "");
  Start();
  EXPECT_EQ(join_.keeps_cluster_id(), kClusterId);
}

TEST_F(PsTaskTest, AnotherGenerationIsRejectedWithBothNumbers) {
  Restore(2, 0);
  const absl::Status status = Push(1, 0, 0.5f).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.ToString().find("in generation 2, but was asked for job 7 in generation 1"),
            std::string::npos)
      << status;
  EXPECT_NE(Restore(1, 0).error(), "");
}

TEST_F(PsTaskTest, RestoresFromItsDiskAfterARestart) {
  Restore(1, 0);
  for (int64_t batch = 0; batch < 6; ++batch) ASSERT_TRUE(Push(1, batch, 0.25f).ok());
  const proto::CutReply cut = Cut(1, 1);
  EXPECT_EQ(cut.error(), "");
  EXPECT_EQ(cut.ledger().applied_on_all().low_water(), 6);
  std::vector<std::vector<float>> at_cut, further, continued;
  ASSERT_TRUE(PullBatch(1, 6, &at_cut).ok());
  for (int64_t batch = 6; batch < 9; ++batch) ASSERT_TRUE(Push(1, batch, -1).ok());
  ASSERT_TRUE(PullBatch(1, 9, &further).ok());
  const proto::PersistReply persisted = Persist(1, 1);
  EXPECT_EQ(persisted.error(), "");
  EXPECT_EQ(persisted.part().blocks(), 8);
  // Evaluation reads the cut.
  proto::PullHeader header;
  header.set_generation(1);
  header.set_cut(1);
  std::vector<std::vector<float>> values;
  ASSERT_TRUE(Pull(header, &values).ok());
  EXPECT_EQ(values, at_cut);

  Start();
  EXPECT_EQ(join_.job_id(), 0);
  EXPECT_NE(Restore(2, 9).error(), "");  // There is no such snapshot.
  const proto::RestoreReply restored = Restore(2, 1);
  EXPECT_EQ(restored.error(), "");
  EXPECT_EQ(restored.ledger().applied_on_all().low_water(), 6);
  ASSERT_TRUE(PullBatch(2, 6, &values).ok());
  EXPECT_EQ(values, at_cut);
  // With slots and the number of updates; otherwise Adam would compute other values.
  for (int64_t batch = 6; batch < 9; ++batch) ASSERT_TRUE(Push(2, batch, -1).ok());
  ASSERT_TRUE(PullBatch(2, 9, &continued).ok());
  EXPECT_EQ(continued, further);
  // Export reads the checkpoint itself, also after the job has ended.
  StopJob(false);
  header.set_checkpoint(1);
  const PullResult exported = Pull(header, &values);
  ASSERT_TRUE(exported.ok()) << exported.status();
  EXPECT_EQ(values, at_cut);
  StopJob(true);
  EXPECT_EQ(Pull(header, &values).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(PsTaskTest, ASynchronousPullWaitsOverTheNetworkForTheUpdate) {
  job_.synchronous = true;
  job_.batches_per_update = 2;
  Restore(1, 0);
  std::vector<std::vector<float>> values;
  ASSERT_TRUE(PullBatch(1, 0, &values).ok());
  Mailbox<std::shared_ptr<PullResult>> box;
  proto::PullHeader header;
  header.set_job_id(7);
  header.set_generation(1);
  header.set_batch(2);
  header.add_blocks(0);
  std::vector<float> destination(Empty()[0].size());
  client_->Pull(0, header, {absl::MakeSpan(destination)}, [&](PullResult result) {
    box.Put(std::make_shared<PullResult>(std::move(result)));
  });
  Mailbox<int> pushed;
  std::thread other([&] { pushed.Put(Push(1, 1, 0.5f).ok()); });
  EXPECT_TRUE(Push(1, 0, 0.5f).ok());
  EXPECT_EQ(pushed.Take(), 1);
  other.join();
  const PullResult late = *box.Take();
  ASSERT_TRUE(late.ok()) << late.status();
  EXPECT_EQ(late->versions(0), 1);
  EXPECT_NE(destination, values[0]);
  // Batch 1 is repeated after a push for the next update: it has been applied.
  std::thread next([&] { EXPECT_TRUE(Push(1, 2, 0.5f).ok()); });
  while (!PullBatch(1, 1, &values)->batch_applied()) {
  }
  EXPECT_TRUE(Push(1, 3, 0.5f).ok());
  next.join();
}

TEST_F(PsTaskTest, AJobStartsWithUploadedWeights) {
  job_.weights_uploaded = true;
  EXPECT_NE(Restore(1, 0).error().find("were not uploaded"), std::string::npos);
  const auto layout = MakeLayout(job_);
  proto::Command expect;
  expect.mutable_expect_upload()->set_job_id(7);
  expect.mutable_expect_upload()->set_bytes(1 << 20);
  coordinator_.Tell(expect);  // The client repeats what comes before.
  std::vector<std::vector<float>> expected = Empty();
  for (const BlockSpec& block : layout->blocks()) {
    const nn::VariableSpec& variable = layout->variables()[block.variable];
    std::fill(expected[block.id].begin(), expected[block.id].end(), 0.5f + block.id);
    proto::UploadHeader header;
    header.set_job_id(7);
    proto::UploadedBlock& uploaded = *header.add_blocks();
    uploaded.set_block(block.id);
    uploaded.set_variable(variable.name);
    uploaded.mutable_variable_shape()->Assign(variable.shape.begin(), variable.shape.end());
    uploaded.set_row_begin(block.row_begin);
    uploaded.set_row_end(block.row_end);
    Mailbox<int> stored;
    client_->Upload(0, header, {cluster::FramePiece::OfFloats(expected[block.id], nullptr)},
                    [&](absl::StatusOr<proto::UploadReplyHeader> reply) {
                      stored.Put(reply.ok() ? static_cast<int>(reply->stored()) : -1);
                    });
    EXPECT_EQ(stored.Take(), 1);
  }
  Start();
  EXPECT_EQ(Restore(1, 0).error(), "");
  std::vector<std::vector<float>> values;
  ASSERT_TRUE(PullBatch(1, 0, &values).ok());
  EXPECT_EQ(values, expected);
  proto::PullHeader header;
  header.set_checkpoint(0);
  ASSERT_TRUE(Pull(header, &values).ok());
  EXPECT_EQ(values, expected);
}

}  // namespace
}  // namespace cairn::parameters
