#include "parameters/blocks/block.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/parameters/test_job.h"

namespace cairn::parameters {
namespace {

using Reply = std::shared_ptr<std::optional<BlockReply>>;

// One block of the tests' job, beginning with zeros. With SGD of rate 1 a gradient of -1 adds 1 to
// every value, so that values count updates.
class BlockUnderTest {
 public:
  explicit BlockUnderTest(const TestJobOptions& job, const std::string& variable = "hidden/kernel",
                          Block::Options options = {})
      : layout_(MakeLayout(job)), rule_(layout_.get(), &pool_) {
    const int position = PositionOf(*layout_, variable);
    const BlockSpec& spec = layout_->blocks()[position];
    BlockState state;
    state.values = Filled(&pool_, spec.count, 0);
    const int slots = layout_->slot_count(spec);
    if (slots > 0) state.slots = Filled(&pool_, spec.count * slots, 0);
    block_ = std::make_unique<Block>(layout_.get(), position, &rule_, std::move(state), options);
  }
  ~BlockUnderTest() { block_->Close(absl::UnavailableError("the test ends")); }

  Reply Pull(int64_t batch, bool early = false) {
    auto reply = std::make_shared<std::optional<BlockReply>>();
    ParkedPulls::Pull pull;
    pull.batch = batch;
    pull.early = early;
    pull.done = [reply](BlockReply answer) {
      EXPECT_FALSE(reply->has_value()) << "answered twice";
      *reply = std::move(answer);
    };
    block_->Pull(std::move(pull));
    return reply;
  }

  Reply Push(int64_t batch, BlockBuffer gradient, int64_t examples = 1) {
    return Send({.batch = batch,
                 .examples = examples,
                 .gradient = std::move(gradient),
                 .want_values = true});
  }
  Reply Push(int64_t batch, float gradient = -1) {
    return Push(batch, Filled(&pool_, spec().count, gradient));
  }

  // Both without values.
  Reply PushBuffered(int64_t batch) {
    return Send({.batch = batch,
                 .gradient = Filled(&pool_, spec().count, -1),
                 .answer_when_buffered = true});
  }
  Reply AskForUpdate(int64_t batch) { return Send({.batch = batch, .already_buffered = true}); }

  float value() const { return block_->state().values.data()[0]; }
  const BlockSpec& spec() const { return block_->spec(); }
  Block* operator->() { return block_.get(); }
  BufferPool* pool() { return &pool_; }

 private:
  Reply Send(BlockPush push) {
    auto reply = std::make_shared<std::optional<BlockReply>>();
    block_->Push(std::move(push), [reply](BlockReply answer) {
      EXPECT_FALSE(reply->has_value()) << "answered twice";
      *reply = std::move(answer);
    });
    return reply;
  }

  BufferPool pool_;
  std::shared_ptr<const JobLayout> layout_;
  UpdateRule rule_;
  std::unique_ptr<Block> block_;
};

float ValueIn(const Reply& reply) { return reply->value().values.data()[0]; }
absl::StatusCode CodeOf(const Reply& reply) { return reply->value().status.code(); }

TestJobOptions Synchronous(int64_t batches_per_update) {
  TestJobOptions job;
  job.synchronous = true;
  job.batches_per_update = batches_per_update;
  return job;
}

TEST(Block, AnAsynchronousPushIsAppliedOnceHoweverOftenItComes) {
  BlockUnderTest block({});
  std::mt19937 random(1);
  std::vector<int64_t> pushes;
  for (int64_t batch = 0; batch < 100; ++batch) {
    pushes.insert(pushes.end(), 1 + random() % 3, batch);
  }
  std::shuffle(pushes.begin(), pushes.end(), random);
  std::vector<bool> seen(100);
  for (const int64_t batch : pushes) {
    const Reply reply = block.Push(batch);
    EXPECT_EQ(reply->value().applied_before, seen[batch]);
    EXPECT_EQ(ValueIn(reply), block.value());
    seen[batch] = true;
  }
  EXPECT_EQ(block.value(), 100);
  EXPECT_EQ(block->state().version, 100);
  EXPECT_EQ(block->state().ledger.low_water(), 100);
}

TEST(Block, ABatchWithoutAGradientIsAppliedAndChangesNothing) {
  BlockUnderTest block({});
  EXPECT_FALSE(block.Push(0, BlockBuffer())->value().applied_before);
  EXPECT_TRUE(block.Push(0, -1)->value().applied_before);
  EXPECT_EQ(block.value(), 0);
  EXPECT_EQ(block->state().version, 0);
  EXPECT_TRUE(block->state().ledger.IsApplied(0));
}

TEST(Block, WithoutTheLedgerARepeatedPushCountsTwice) {
  Block::Options options;
  options.unsafe_disable_ledger = true;
  BlockUnderTest block({}, "hidden/kernel", options);
  block.Push(0);
  EXPECT_TRUE(block.Push(0)->value().applied_before);
  EXPECT_EQ(block.value(), 2);
}

TEST(Block, AReplyToAPullNeverChanges) {
  BlockUnderTest block({});
  std::vector<Reply> pulls;
  for (int64_t batch = 0; batch < 20; ++batch) {
    pulls.push_back(block.Pull(batch));
    block.Push(batch);
  }
  for (size_t i = 0; i < pulls.size(); ++i) {
    for (const float value : Values(pulls[i]->value().values)) {
      EXPECT_EQ(value, static_cast<float>(i));
    }
    EXPECT_EQ(pulls[i]->value().version, static_cast<int64_t>(i));
  }
}

TEST(Block, WritesInPlaceUnlessTheBufferIsReferenced) {
  TestJobOptions job;
  job.optimizer = "adam";
  BlockUnderTest block(job);
  BlockBuffer spare;
  const auto push = [&](int64_t batch) {
    block->Push({.batch = batch, .gradient = Filled(block.pool(), block.spec().count, -1)},
                [](BlockReply reply) { ASSERT_TRUE(reply.status.ok()); });
  };
  const float* const first = block->state().values.data();
  push(0);
  EXPECT_EQ(block->state().values.data(), first);
  Reply pull = block.Pull(1);
  push(1);
  const float* const second = block->state().values.data();
  EXPECT_NE(second, first);
  pull.reset();
  pull = block.Pull(2);
  push(2);
  // The memory of the first comes back: nothing new is allocated.
  EXPECT_TRUE(block->state().values.data() == first || block.pool()->unused_bytes() > 0);
}

TEST(Block, AnErrorNamesTheBlockAndChangesNothing) {
  BlockUnderTest block({});
  const Reply small = block.Push(0, Filled(block.pool(), 3, 1));
  EXPECT_EQ(CodeOf(small), absl::StatusCode::kInvalidArgument);
  const std::string message((*small)->status.message());
  EXPECT_NE(message.find("hidden/kernel"), std::string::npos) << message;
  EXPECT_NE(message.find("3 values, expected 24"), std::string::npos) << message;
  EXPECT_EQ(CodeOf(block.Push(65536)), absl::StatusCode::kOutOfRange);
  EXPECT_FALSE(block->state().ledger.IsApplied(0));
  EXPECT_EQ(block.value(), 0);
}

TEST(Block, AFrozenBlockIsPulledAndNeverPushed) {
  for (const bool synchronous : {false, true}) {
    TestJobOptions job = Synchronous(2);
    job.synchronous = synchronous;
    job.batches_per_update = synchronous ? 2 : 1;
    BlockUnderTest block(job, "frozen/kernel");
    EXPECT_EQ(ValueIn(block.Pull(99)), 0);
    EXPECT_EQ(CodeOf(block.Push(0)), absl::StatusCode::kFailedPrecondition);
  }
}

TEST(Block, MovingStatisticsAreAveraged) {
  BlockUnderTest block({}, "norm/moving_mean");
  block.Push(0, 8);
  EXPECT_EQ(block.value(), 4);
  block.Push(1, 8);
  EXPECT_EQ(block.value(), 6);
}

TEST(Block, AStalePullWaitsForItsWindow) {
  TestJobOptions job;
  job.window = 2;
  BlockUnderTest block(job);
  const Reply early = block.Pull(2);
  EXPECT_TRUE(early->has_value());
  const Reply waiting = block.Pull(4);
  block.Push(1);
  EXPECT_FALSE(waiting->has_value());
  block.Push(0);
  ASSERT_TRUE(waiting->has_value());
  EXPECT_EQ(ValueIn(waiting), 2);
}

TEST(Block, ASynchronousUpdateWaitsForAllOfItsBatches) {
  BlockUnderTest block(Synchronous(3));
  const Reply next = block.Pull(4);
  const Reply second = block.Push(1, -3);
  const Reply third = block.Push(2, -3);
  EXPECT_FALSE(second->has_value() || third->has_value());
  EXPECT_EQ(ValueIn(block.Pull(0)), 0);
  const Reply first = block.Push(0, -3);
  for (const Reply& reply : {first, second, third}) {
    ASSERT_TRUE(reply->has_value());
    EXPECT_FALSE((*reply)->applied_before);
    EXPECT_EQ(ValueIn(reply), 3);
    EXPECT_EQ((*reply)->version, 1);
  }
  ASSERT_TRUE(next->has_value());
  EXPECT_EQ(ValueIn(next), 3);
  EXPECT_TRUE(block.Push(2, -3)->value().applied_before);
  EXPECT_EQ(block.value(), 3);
}

TEST(Block, KeepsTheVersionBeforeUntilTheNextUpdatesFirstPush) {
  BlockUnderTest block(Synchronous(2));
  block.Push(0, -1);
  block.Push(1, -1);
  // A worker that has to do batch 1 again, for another ps, sees what it saw before.
  EXPECT_EQ(ValueIn(block.Pull(1)), 0);
  EXPECT_EQ(block.Pull(1)->value().version, 0);
  EXPECT_EQ(ValueIn(block.Pull(2)), 1);
  block.Push(3, -1);
  const Reply applied = block.Pull(1);
  EXPECT_TRUE((*applied)->applied_before);
  EXPECT_FALSE((*applied)->values);
}

TEST(Block, APushForALaterUpdateIsRefused) {
  BlockUnderTest block(Synchronous(2));
  EXPECT_EQ(CodeOf(block.Push(2)), absl::StatusCode::kFailedPrecondition);
  block.Push(0);
  EXPECT_EQ(CodeOf(block.Push(5)), absl::StatusCode::kFailedPrecondition);
  block.Push(1);
  EXPECT_FALSE(block.Push(2)->has_value());
}

// What the training does, said in the simplest way: updates in order, each the weighted mean.
std::vector<float> TrainInOrder(const std::vector<std::vector<float>>& gradients,
                                const std::vector<int64_t>& examples, const TestJobOptions& job) {
  BlockUnderTest block(job);
  for (size_t batch = 0; batch < gradients.size(); ++batch) {
    BlockBuffer gradient = block.pool()->Allocate(block.spec().count);
    std::copy(gradients[batch].begin(), gradients[batch].end(), gradient.data());
    block.Push(static_cast<int64_t>(batch), std::move(gradient), examples[batch]);
  }
  return Values(block->state().values);
}

TEST(Block, SynchronousBitsDoNotDependOnOrderOrRepetition) {
  TestJobOptions job = Synchronous(4);
  job.optimizer = "adam";
  job.learning_rate = 0.01;
  job.batches_per_epoch = 10;
  job.total_batches = 27;
  for (uint32_t seed = 0; seed < 15; ++seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<std::vector<float>> gradients(27, std::vector<float>(24));
    std::vector<int64_t> examples(27);
    for (auto& gradient : gradients) {
      for (float& value : gradient) value = normal(random);
    }
    for (int64_t& count : examples) count = 1 + static_cast<int64_t>(random() % 128);
    const std::vector<float> expected = TrainInOrder(gradients, examples, job);

    BlockUnderTest block(job);
    const Consistency rules = MakeLayout(job)->consistency();
    for (int64_t low = 0; low < 27; low = block->state().ledger.low_water()) {
      // Any batch of this update or of an earlier one, new or not.
      const auto range = rules.BatchesOf(rules.UpdateOf(low));
      const int64_t batch = static_cast<int64_t>(random() % (range.first + range.count));
      const Reply pull = block.Pull(batch);
      ASSERT_TRUE(pull->has_value());
      BlockBuffer gradient = block.pool()->Allocate(24);
      std::copy(gradients[batch].begin(), gradients[batch].end(), gradient.data());
      block.Push(batch, std::move(gradient), examples[batch]);
    }
    const std::vector<float> values = Values(block->state().values);
    ASSERT_EQ(std::memcmp(values.data(), expected.data(), 24 * sizeof(float)), 0) << seed;
  }
}

std::shared_ptr<const storage::RateChanges> RatesOf(
    const std::vector<std::pair<int64_t, double>>& rates) {
  google::protobuf::RepeatedPtrField<proto::RateChange> changes;
  for (const auto& [batch, rate] : rates) {
    proto::RateChange* change = changes.Add();
    change->set_from_batch(batch);
    change->set_learning_rate(rate);
  }
  return std::make_shared<const storage::RateChanges>(changes);
}

// The job's own rate is 1.
TEST(Block, AnUpdateIsMadeWithTheRateThatHoldsFromItsBatchOn) {
  BlockUnderTest block({});
  block->SetRates(RatesOf({{2, 10}, {4, 100}}));
  const std::vector<float> steps = {1, 1, 10, 10, 100, 100};
  float expected = 0;
  // Whenever it comes: batch 4 is pushed before batch 3.
  for (const int64_t batch : {0, 1, 2, 4, 3, 5}) {
    block.Push(batch);
    expected += steps[batch];
    EXPECT_EQ(block.value(), expected) << "batch " << batch;
  }
}

TEST(Block, ASynchronousUpdateIsMadeWithTheRateOfItsFirstBatch) {
  BlockUnderTest block(Synchronous(2));
  block->SetRates(RatesOf({{2, 10}}));
  for (const int64_t batch : {1, 0, 3, 2}) block.Push(batch);
  EXPECT_EQ(block.value(), 11);
}

TEST(Block, ClosingAnswersEverybodyWhoWaits) {
  BlockUnderTest block(Synchronous(2));
  const Reply pull = block.Pull(2);
  const Reply push = block.Push(0);
  block->Close(absl::AbortedError("a new generation"));
  EXPECT_EQ(CodeOf(pull), absl::StatusCode::kAborted);
  EXPECT_EQ(CodeOf(push), absl::StatusCode::kAborted);
  EXPECT_EQ(CodeOf(block.Pull(0)), absl::StatusCode::kAborted);
  EXPECT_EQ(CodeOf(block.Push(1)), absl::StatusCode::kAborted);
}

TEST(Block, OnlyTheNewestRepetitionOfAPushWaits) {
  BlockUnderTest block(Synchronous(2));
  std::vector<Reply> pushes;
  for (int i = 0; i < 3; ++i) pushes.push_back(block.Push(0, -2));
  EXPECT_EQ(CodeOf(pushes[0]), absl::StatusCode::kUnavailable);
  EXPECT_EQ(CodeOf(pushes[1]), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(pushes[2]->has_value());
  block.Push(1, -4);
  ASSERT_TRUE(pushes[2]->has_value());
  EXPECT_TRUE((*pushes[2])->applied_before);
  EXPECT_EQ(ValueIn(pushes[2]), 3);
}

TEST(Block, APullBeyondTheLimitDropsAbandonedPulls) {
  BlockUnderTest block(Synchronous(2));
  bool abandoned = false, may_wait = true;
  int cancelled = 0, exhausted = 0;
  const auto pull = [&](int64_t batch) {
    ParkedPulls::Pull pull;
    pull.batch = batch;
    pull.may_wait = [&] { return may_wait; };
    pull.abandoned = [&] { return abandoned; };
    pull.done = [&](BlockReply reply) {
      cancelled += absl::IsCancelled(reply.status);
      exhausted += absl::IsResourceExhausted(reply.status);
    };
    block->Pull(std::move(pull));
  };
  pull(2);
  pull(2);
  may_wait = false;
  pull(2);
  EXPECT_EQ(exhausted, 1);
  EXPECT_EQ(cancelled, 0);
  pull(0);  // It need not wait.
  EXPECT_EQ(exhausted, 1);
  abandoned = true;
  pull(2);
  EXPECT_EQ(exhausted, 2);
  EXPECT_EQ(cancelled, 2);
}

TestJobOptions Clipped(int64_t batches_per_update) {
  TestJobOptions job = Synchronous(batches_per_update);
  job.global_clipnorm = 1;
  return job;
}

double SquareSumIn(const Reply& reply) { return reply->value().square_sum.value().value(); }

// The kernel has 24 values.
TEST(Block, AnUpdateWhoseNormIsClippedIsMeasuredAndThenApplied) {
  BlockUnderTest block(Clipped(2));
  const Reply next = block.Pull(2);
  const Reply first = block.Push(0, -3);
  EXPECT_FALSE(first->has_value());
  const Reply second = block.Push(1, -5);
  for (const Reply& reply : {first, second}) {
    ASSERT_TRUE(reply->has_value());
    EXPECT_EQ(SquareSumIn(reply), 24 * 16);
    EXPECT_EQ((*reply)->version, 0);
    EXPECT_FALSE((*reply)->applied_before);
  }
  EXPECT_EQ(block->state().ledger.low_water(), 0);
  EXPECT_EQ(block.value(), 0);
  EXPECT_FALSE(next->has_value());
  EXPECT_EQ(ValueIn(block.Pull(1)), 0);
  EXPECT_FALSE(block->ApplyUpdate(1, 0.25f).applied_before);
  EXPECT_EQ(block.value(), 1);
  EXPECT_EQ(block->state().ledger.low_water(), 2);
  ASSERT_TRUE(next->has_value());
  EXPECT_EQ(ValueIn(next), 1);
  // The other worker, and one that repeats itself, change nothing.
  EXPECT_TRUE(block->ApplyUpdate(0, 0.25f).applied_before);
  EXPECT_EQ(block.value(), 1);
  EXPECT_EQ(block->state().version, 1);
}

// All workers may die between the two steps: whoever does a batch again learns the sum.
TEST(Block, ARepeatedPushGetsTheSumUntilTheNextUpdateIsReduced) {
  BlockUnderTest block(Clipped(2));
  for (const int64_t batch : {0, 1}) block.Push(batch, -2);
  for (int i = 0; i < 2; ++i) {
    const Reply again = block.Push(1, -77);
    EXPECT_EQ(SquareSumIn(again), 24 * 4);
    EXPECT_TRUE((*again)->applied_before);
  }
  EXPECT_TRUE(block->ApplyUpdate(0, 0.5f).status.ok());
  EXPECT_EQ(block.value(), 1);
  EXPECT_EQ(ValueIn(block.Pull(1)), 0) << "its values for another ps";
  EXPECT_EQ(SquareSumIn(block.Push(0, -2)), 24 * 4);
  for (const int64_t batch : {2, 3}) block.Push(batch, -2);
  const Reply late = block.Push(0, -2);
  EXPECT_TRUE((*late)->applied_before);
  EXPECT_FALSE((*late)->square_sum.has_value());
  EXPECT_TRUE(block->ApplyUpdate(0, 0.5f).applied_before);
  EXPECT_EQ(block.value(), 1);
}

TEST(Block, AnUpdateIsNotAppliedBeforeItIsMeasured) {
  BlockUnderTest block(Clipped(2));
  const auto code_of = [&](int64_t batch) { return block->ApplyUpdate(batch, 1).status.code(); };
  EXPECT_EQ(code_of(0), absl::StatusCode::kFailedPrecondition);
  const Reply waiting = block.Push(0);
  EXPECT_EQ(code_of(0), absl::StatusCode::kFailedPrecondition);
  block.Push(1);
  EXPECT_EQ(code_of(2), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(CodeOf(block.Push(2)), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(code_of(0), absl::StatusCode::kOk);
  block.Push(2);
  block.Push(3);
  block->Close(absl::AbortedError("a new generation"));
  EXPECT_EQ(code_of(2), absl::StatusCode::kAborted);
  BlockUnderTest other(Synchronous(2));
  EXPECT_EQ(other->ApplyUpdate(0, 1).status.code(), absl::StatusCode::kFailedPrecondition);
}

TEST(Block, WhatIsNoGradientHasNoNormAndIsAppliedWithTheRest) {
  BlockUnderTest statistics(Clipped(2), "norm/moving_mean");
  for (const int64_t batch : {0, 1}) statistics.Push(batch, 8);
  EXPECT_EQ(SquareSumIn(statistics.Push(0, 8)), 0);
  EXPECT_TRUE(statistics->ApplyUpdate(0, 0.5f).status.ok());
  EXPECT_EQ(statistics.value(), 4);
  BlockUnderTest untouched(Clipped(2));
  for (const int64_t batch : {0, 1}) untouched.Push(batch, BlockBuffer());
  EXPECT_EQ(SquareSumIn(untouched.Push(0)), 0);
  EXPECT_TRUE(untouched->ApplyUpdate(0, 0.5f).status.ok());
  EXPECT_EQ(untouched->state().version, 0);
  EXPECT_EQ(untouched->state().ledger.low_water(), 2);
}

// A push that asks to be answered when its gradient is buffered, and the one that asks afterwards
// for the answer to the update.
// The updates that a block has passed on to its replicas.
struct Passed {
  std::vector<ReducedBlock> updates;

  Block::Options Options() {
    return {.replicate = [this](ReducedBlock update) { updates.push_back(std::move(update)); }};
  }
};

Reply ApplyLater(BlockUnderTest& block, int64_t batch, float scale) {
  auto reply = std::make_shared<std::optional<BlockReply>>();
  block->ApplyUpdate(batch, scale, [reply](BlockReply answer) { *reply = std::move(answer); });
  return reply;
}

TEST(Block, AnUpdateIsSeenWhenItsReplicasHaveIt) {
  Passed passed;
  BlockUnderTest block(Synchronous(2), "hidden/kernel", passed.Options());
  const Reply next = block.Pull(2);
  const Reply first = block.Push(0, -3);
  const Reply second = block.Push(1, -5);
  ASSERT_EQ(passed.updates.size(), 1u);
  EXPECT_EQ(passed.updates[0].batch, 0);
  EXPECT_EQ(passed.updates[0].mean.data()[0], -4);
  EXPECT_FALSE(first->has_value() || second->has_value() || next->has_value());
  EXPECT_EQ(block.value(), 0);
  EXPECT_FALSE(block->Replicas().previous.has_value());
  // A repeated push waits, too.
  const Reply repeated = block.Push(1, -5);
  EXPECT_TRUE(absl::IsUnavailable(second->value().status));
  EXPECT_EQ(passed.updates.size(), 1u);
  block->Replicated(0, absl::OkStatus());
  for (const Reply& reply : {first, repeated, next}) {
    ASSERT_TRUE(reply->has_value());
    EXPECT_EQ(ValueIn(reply), 4);
  }
  EXPECT_EQ(block->Replicas().previous->values.data()[0], 0);
  // The next update's first push proves that nobody needs it.
  block.Push(2, -1);
  EXPECT_FALSE(block->Replicas().previous.has_value());
}

TEST(Block, AnEarlyPullGetsWhatIsOnTheWayToTheReplicas) {
  Passed passed;
  BlockUnderTest block(Synchronous(2), "hidden/kernel", passed.Options());
  const Reply early = block.Pull(2, /*early=*/true);
  const Reply visible = block.Pull(2);
  block.Push(0, -3);
  block->ComputeAhead();
  EXPECT_FALSE(early->has_value());
  block.Push(1, -5);
  EXPECT_FALSE(early->has_value());
  block->ComputeAhead();
  ASSERT_TRUE(early->has_value());
  EXPECT_EQ(ValueIn(early), 4);
  EXPECT_EQ(early->value().version, 1);
  EXPECT_EQ(ValueIn(block.Pull(2, true)), 4);
  // Nothing but early pulls of the next update sees it, a cut neither.
  EXPECT_EQ(ValueIn(block.Pull(0, true)), 0);
  EXPECT_EQ(ValueIn(block.Pull(1)), 0);
  EXPECT_FALSE(block.Pull(4, true)->has_value() || visible->has_value());
  EXPECT_EQ(block->state().ledger.low_water(), 0);
  EXPECT_EQ(block.value(), 0);
  EXPECT_FALSE(block->Replicas().next.has_value());
  block->Replicated(0, absl::OkStatus());
  EXPECT_EQ(ValueIn(visible), 4);
  EXPECT_EQ(block.value(), 4);
  EXPECT_EQ(ValueIn(block.Pull(2, true)), 4);
}

TEST(Block, AnUpdateThatDoesNotReachItsReplicasIsPassedOnAgain) {
  Passed passed;
  BlockUnderTest block(Synchronous(1), "hidden/kernel", passed.Options());
  const Reply first = block.Push(0, -3);
  block->Replicated(0, absl::InternalError("no memory there"));
  ASSERT_TRUE(first->has_value());
  EXPECT_TRUE(absl::IsUnavailable(first->value().status)) << first->value().status;
  EXPECT_EQ(block.value(), 0);
  const Reply again = block.Push(0, -3);
  EXPECT_EQ(passed.updates.size(), 2u);
  block->Replicated(0, absl::OkStatus());
  EXPECT_EQ(ValueIn(again), 3);
}

TEST(Block, AClippedUpdateIsPassedOnWithItsScale) {
  Passed passed;
  BlockUnderTest block(Clipped(2), "hidden/kernel", passed.Options());
  block.Push(0, -2);
  EXPECT_EQ(SquareSumIn(block.Push(1, -2)), 24 * 4);
  EXPECT_TRUE(passed.updates.empty());
  const Reply first = ApplyLater(block, 0, 0.5f);
  const Reply second = ApplyLater(block, 1, 0.5f);
  ASSERT_EQ(passed.updates.size(), 1u);
  EXPECT_EQ(passed.updates[0].scale, 0.5f);
  EXPECT_FALSE(first->has_value() || second->has_value());
  block->Replicated(0, absl::OkStatus());
  EXPECT_TRUE(first->value().status.ok() && second->value().status.ok());
  EXPECT_EQ(block.value(), 1);
}

TEST(Block, AReplicaAnswersEarlyPulls) {
  BlockUnderTest replica(Synchronous(2), "hidden/kernel", {.is_replica = true});
  const auto receive = [&](int64_t batch, float gradient) {
    return replica->Receive({0, batch, Filled(replica.pool(), replica.spec().count, gradient), 1});
  };
  EXPECT_EQ(ValueIn(replica.Pull(0, /*early=*/true)), 0);
  const Reply next = replica.Pull(2, true);
  const Reply later = replica.Pull(4, true);
  ASSERT_TRUE(receive(0, -3).ok());
  EXPECT_EQ(ValueIn(next), 3);
  EXPECT_EQ(ValueIn(replica.Pull(1, true)), 0);
  EXPECT_FALSE(later->has_value());
  ASSERT_TRUE(receive(2, -5).ok());
  EXPECT_EQ(ValueIn(later), 8);
  EXPECT_EQ(ValueIn(replica.Pull(3, true)), 3);
  // Its update is applied on all blocks, and the values before it are gone.
  EXPECT_TRUE(replica.Pull(1, true)->value().applied_before);
}

TEST(Block, AReplicaIsOneUpdateBehind) {
  BlockUnderTest replica(Synchronous(2), "hidden/kernel", {.is_replica = true});
  const auto receive = [&](int64_t batch, float gradient) {
    return replica->Receive({0, batch, Filled(replica.pool(), replica.spec().count, gradient), 1});
  };
  ASSERT_TRUE(receive(0, -3).ok());
  EXPECT_EQ(replica.value(), 0);
  EXPECT_EQ(replica->Replicas().next->values.data()[0], 3);
  EXPECT_EQ(replica->Replicas().next->ledger.low_water(), 2);
  EXPECT_TRUE(receive(0, -3).ok());
  ASSERT_TRUE(receive(2, -5).ok());
  EXPECT_EQ(replica.value(), 3);
  EXPECT_TRUE(receive(0, -3).ok());
  EXPECT_EQ(replica.value(), 3);
  EXPECT_TRUE(absl::IsFailedPrecondition(receive(6, -1)));
  EXPECT_TRUE(absl::IsFailedPrecondition(receive(5, -1)));
  ASSERT_TRUE(receive(4, -1).ok());
  EXPECT_EQ(replica.value(), 8);
}

TEST(Block, ClosingAnswersWhoWaitsForReplicas) {
  Passed passed;
  BlockUnderTest block(Clipped(2), "hidden/kernel", passed.Options());
  block.Push(0, -2);
  block.Push(1, -2);
  const Reply applies = ApplyLater(block, 0, 0.5f);
  block->Close(absl::AbortedError("it ends"));
  EXPECT_TRUE(absl::IsAborted(applies->value().status));
  block->Replicated(0, absl::OkStatus());
  EXPECT_EQ(block.value(), 0);
}

TEST(Block, ASenderMayHandItsGradientOverBeforeTheUpdateIsComplete) {
  BlockUnderTest block(Synchronous(3));
  EXPECT_TRUE(block.PushBuffered(1)->value().buffered);
  EXPECT_TRUE(block.PushBuffered(0)->value().buffered);
  const Reply zero = block.AskForUpdate(0);
  EXPECT_FALSE(zero->has_value());
  EXPECT_EQ(block.value(), 0);
  // The last one completes the update: it is answered as ever.
  const Reply two = block.PushBuffered(2);
  EXPECT_FALSE(two->value().buffered);
  EXPECT_TRUE(two->value().status.ok());
  EXPECT_EQ(block.value(), 1);
  EXPECT_TRUE(zero->value().status.ok());
  EXPECT_FALSE(zero->value().applied_before);
  // Who asks later is answered at once.
  EXPECT_TRUE(block.AskForUpdate(1)->value().status.ok());
  EXPECT_EQ(block.value(), 1);
}

TEST(Block, ABufferedGradientThatComesAgainCountsOnce) {
  BlockUnderTest block(Synchronous(2));
  EXPECT_TRUE(block.PushBuffered(0)->value().buffered);
  const Reply again = block.PushBuffered(0);
  EXPECT_TRUE(again->value().buffered);
  EXPECT_TRUE(again->value().applied_before);
  block.Push(1);
  EXPECT_EQ(block.value(), 1);
}

TEST(Block, RejectsAQueryForAGradientThatIsNotBuffered) {
  BlockUnderTest block(Synchronous(2));
  EXPECT_EQ(CodeOf(block.AskForUpdate(0)), absl::StatusCode::kInternal);
  block.Push(0);
  EXPECT_EQ(CodeOf(block.AskForUpdate(1)), absl::StatusCode::kInternal);
}

TEST(Block, BeyondTheBudgetOnlyTheLowestMissingBatchIsTaken) {
  GradientBudget budget(0);
  Block::Options options;
  options.gradient_budget = &budget;
  BlockUnderTest block(Synchronous(3), "hidden/kernel", options);
  EXPECT_EQ(CodeOf(block.Push(2)), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(CodeOf(block.PushBuffered(1)), absl::StatusCode::kResourceExhausted);
  for (const int64_t batch : {0, 1}) EXPECT_TRUE(block.PushBuffered(batch)->value().buffered);
  EXPECT_TRUE(block.Push(2)->value().status.ok());
  EXPECT_EQ(block.value(), 1);
  EXPECT_EQ(budget.bytes(), 0);
}

}  // namespace
}  // namespace cairn::parameters
