#include "worker/strategy/gradient_pusher.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "common/bounded_queue.h"
#include "gtest/gtest.h"
#include "tests/worker/counting_plan.h"
#include "tests/worker/test_ps.h"

namespace cairn::worker {
namespace {

class GradientPusherTest : public ::testing::Test {
 protected:
  explicit GradientPusherTest(const CountingOptions& options = {})
      : plan_(CountingPlan(options)),
        cluster_(plan_),
        model_(*nn::Model::Create(plan_.model())),
        table_(*BlockTable::Create(plan_.partition(), *model_)) {}

  std::unique_ptr<GradientPusher> MakePusher(uint64_t generation = 1, bool copy = true,
                                             int64_t gradient_memory = int64_t{1} << 30) {
    GradientPusher::Options options;
    options.copy_gradients = copy;
    options.gradient_memory = gradient_memory;
    options.job_id = plan_.job_id();
    options.generation = generation;
    options.group = ++group_;
    options.clipped_update = clipped_update();
    if (!plan_.synchronous()) {
      options.destination = [this](uint32_t block) {
        return absl::MakeSpan(values_).subspan(table_.block(block).pushed_offset,
                                               table_.block(block).elements);
      };
    }
    options.on_applied = [this](const proto::BatchRecord& record) {
      applied_.Push(record.batch());
    };
    return std::make_unique<GradientPusher>(cluster_.client.get(), &table_, options);
  }

  void Step(GradientPusher* pusher, int64_t batch, bool with_gradient = true, int64_t held_by = 0) {
    std::vector<float> gradient(values_.size(), 1.0f);
    pusher->Begin(batch, 4, held_by);
    if (with_gradient) pusher->Add(0, gradient);
    // The caller may reuse its memory.
    gradient.assign(gradient.size(), 1e9f);
    proto::BatchRecord record;
    record.set_batch(batch);
    pusher->End(record);
  }

  virtual std::optional<ClippedUpdate> clipped_update() const { return std::nullopt; }

  int64_t NextApplied() { return applied_.Pop(absl::Seconds(20)).value_or(-1); }

  void ExpectValues(float expected) {
    for (const auto& ps : cluster_.ps) {
      for (float value : ps->Values()) EXPECT_EQ(value, expected);
    }
  }

  proto::JobPlan plan_;
  TestCluster cluster_;
  std::unique_ptr<nn::Model> model_;
  BlockTable table_;
  BoundedQueue<int64_t> applied_{10000};
  cluster::PsClient::Group group_ = 0;
  std::vector<float> values_ = std::vector<float>(table_.pushed_elements());
};

class SynchronousPusherTest : public GradientPusherTest {
 protected:
  SynchronousPusherTest() : GradientPusherTest({.synchronous = true, .batches_per_update = 2}) {}
};

TEST_F(GradientPusherTest, AStepIsAppliedOnceWithTheAddedGradient) {
  const auto pusher = MakePusher();
  Step(pusher.get(), 3);
  EXPECT_EQ(NextApplied(), 3);
  ExpectValues(-1);
  EXPECT_EQ(applied_.size(), 0u);
}

TEST_F(GradientPusherTest, ABatchWithoutGradientIsAppliedAndChangesNothing) {
  const auto pusher = MakePusher();
  Step(pusher.get(), 0, false);
  EXPECT_EQ(NextApplied(), 0);
  ExpectValues(0);
  Step(pusher.get(), 0);
  EXPECT_EQ(NextApplied(), 0);
  ExpectValues(0);
}

TEST_F(GradientPusherTest, AcknowledgementsBringTheUpdatedValues) {
  const auto pusher = MakePusher();
  for (int64_t batch : {0, 1, 2}) {
    Step(pusher.get(), batch);
    EXPECT_EQ(NextApplied(), batch);
    EXPECT_EQ(values_, std::vector<float>(values_.size(), -static_cast<float>(batch + 1)));
  }
}

TEST_F(GradientPusherTest, GradientsThatStayWhereTheyAreAreSentFromThere) {
  const auto pusher = MakePusher(1, /*copy=*/false);
  std::vector<float> gradient(600);
  for (int64_t batch = 0; batch < 50; ++batch) {
    std::fill(gradient.begin(), gradient.end(), 1.0f);
    pusher->Begin(batch, 4);
    pusher->Add(0, gradient);
    pusher->End(proto::BatchRecord());
    ASSERT_TRUE(*pusher->WaitForSteps([] { return false; }));
    std::fill(gradient.begin(), gradient.end(), 1e9f);
  }
  ExpectValues(-50);
  EXPECT_EQ(values_, std::vector<float>(values_.size(), -50.0f));
}

TEST_F(SynchronousPusherTest, AStepIsAcknowledgedWithItsUpdate) {
  const auto pusher = MakePusher();
  Step(pusher.get(), 0);
  EXPECT_FALSE(*pusher->WaitForSteps([] { return true; }));
  EXPECT_TRUE(*pusher->WaitForMemory(1, [] { return true; }));
  Step(pusher.get(), 1);
  EXPECT_TRUE(*pusher->WaitForSteps([] { return false; }));
  EXPECT_EQ(NextApplied() + NextApplied(), 1);
  ExpectValues(-1);
}

// The ps would refuse it: its update must not begin yet.
TEST_F(SynchronousPusherTest, AHeldStepIsSentWhenThoseBeforeAreAcknowledged) {
  const auto pusher = MakePusher();
  Step(pusher.get(), 0);
  Step(pusher.get(), 2, /*with_gradient=*/true, /*held_by=*/2);
  // Not a batch of its own update holds a step.
  Step(pusher.get(), 3, true, 2);
  EXPECT_FALSE(*pusher->WaitForSteps([] { return true; }));
  ExpectValues(0);
  Step(pusher.get(), 1);
  EXPECT_TRUE(*pusher->WaitForSteps([] { return false; }));
  EXPECT_EQ(NextApplied() + NextApplied(), 1);
  EXPECT_EQ(NextApplied() + NextApplied(), 5);
  ExpectValues(-2);
}

// Acknowledgements arrive at any moment while the next steps begin.
class HeldStepsTest : public GradientPusherTest {
 protected:
  static constexpr int64_t kUpdates = 5000;
  HeldStepsTest()
      : GradientPusherTest({.rows = 4,
                            .batches_per_epoch = kUpdates,
                            .epochs = 1,
                            .synchronous = true,
                            .batches_per_update = 1}) {}
};

TEST_F(HeldStepsTest, NoneIsForgotten) {
  const auto pusher = MakePusher();
  for (int64_t batch = 0; batch < kUpdates; ++batch) {
    Step(pusher.get(), batch, /*with_gradient=*/true, /*held_by=*/batch);
    const absl::Time deadline = absl::Now() + absl::Seconds(20);
    while (pusher->gradient_copies() > 1) ASSERT_LT(absl::Now(), deadline) << batch;
  }
  ASSERT_TRUE(*pusher->WaitForSteps([] { return false; }));
  ExpectValues(-kUpdates);
}

TEST_F(SynchronousPusherTest, AHeldStepThatIsCancelledIsNotReported) {
  auto pusher = MakePusher();
  Step(pusher.get(), 0);
  Step(pusher.get(), 2, /*with_gradient=*/true, /*held_by=*/2);
  for (const auto& ps : cluster_.ps) {
    while (ps->store().counters().pushes == 0) absl::SleepFor(absl::Milliseconds(1));
  }
  pusher.reset();
  EXPECT_EQ(applied_.size(), 0u);
  for (const auto& ps : cluster_.ps) EXPECT_EQ(ps->store().counters().pushes, 1);
}

// Its update may begin on the ps that is left, and nobody knows whether the last one is complete.
TEST_F(SynchronousPusherTest, AHeldStepIsNotSentAfterAnError) {
  const auto pusher = MakePusher();
  Step(pusher.get(), 0);
  for (const auto& ps : cluster_.ps) {
    while (ps->store().counters().pushes == 0) absl::SleepFor(absl::Milliseconds(1));
  }
  cluster_.ps[0]->store().Drop(absl::AbortedError("it ends"));
  while (pusher->status().ok()) absl::SleepFor(absl::Milliseconds(1));
  // All requests of the first step have ended, too.
  cluster_.ps[1]->store().Drop(absl::AbortedError("it ends"));
  EXPECT_TRUE(absl::IsAborted(pusher->WaitForSteps([] { return false; }).status()));
  while (pusher->gradient_copies() > 0) absl::SleepFor(absl::Milliseconds(1));
  for (const auto& ps : cluster_.ps) ps->Restore(plan_, 1);
  Step(pusher.get(), 2, /*with_gradient=*/true, /*held_by=*/2);
  // Long enough for a request that should not be there to arrive.
  absl::SleepFor(absl::Milliseconds(200));
  for (const auto& ps : cluster_.ps) EXPECT_EQ(ps->store().counters().pushes, 1);
}

TEST_F(SynchronousPusherTest, ACancelledStepIsNotReported) {
  auto pusher = MakePusher();
  Step(pusher.get(), 0);
  pusher.reset();
  EXPECT_EQ(applied_.size(), 0u);
}

// One worker computes all batches of large updates: far more gradients than it may keep.
class WideUpdateTest : public GradientPusherTest, public ::testing::WithParamInterface<int64_t> {
 protected:
  WideUpdateTest()
      : GradientPusherTest({.batches_per_epoch = 2 * GetParam(),
                            .epochs = 1,
                            .synchronous = true,
                            .batches_per_update = GetParam()}) {}

  int64_t gradient_bytes() const {
    return table_.pushed_elements() * static_cast<int64_t>(sizeof(float));
  }
};

TEST_P(WideUpdateTest, CompletesWithinTheMemoryForGradients) {
  const int64_t width = GetParam();
  for (const int64_t copies : {0, 2, 5, 100}) {
    // Each budget uses its own generation.
    TestCluster cluster(plan_);
    cluster_.client.swap(cluster.client);
    const auto pusher = MakePusher(1, /*copy=*/true, copies * gradient_bytes());
    for (int64_t batch = 0; batch < 2 * width; ++batch) {
      ASSERT_TRUE(*pusher->WaitForMemory(batch, [] { return false; }));
      Step(pusher.get(), batch);
      EXPECT_LE(pusher->gradient_copies(), std::max<int64_t>(2, copies));
      if (batch % width < width - 1) continue;
      EXPECT_TRUE(*pusher->WaitForSteps([] { return false; }));
    }
    std::set<int64_t> applied;
    for (int64_t i = 0; i < 2 * width; ++i) applied.insert(NextApplied());
    EXPECT_EQ(static_cast<int64_t>(applied.size()), 2 * width);
    EXPECT_EQ(applied_.size(), 0u);
    for (const auto& ps : cluster.ps) {
      for (const float value : ps->Values()) EXPECT_EQ(value, -2);
    }
    cluster_.client.swap(cluster.client);
  }
}

// The lowest batch belonged to a worker that has died. A worker whose memory is full of the
// gradients of higher batches computes it.
TEST_P(WideUpdateTest, TheLowestBatchNeedsNoRoom) {
  const int64_t width = GetParam();
  if (width < 4) return;
  TestCluster cluster(plan_, /*gradient_memory=*/0);
  cluster_.client.swap(cluster.client);
  const auto pusher = MakePusher(1, /*copy=*/true, /*gradient_memory=*/0);
  Step(pusher.get(), 1);
  Step(pusher.get(), 2);
  EXPECT_FALSE(*pusher->WaitForMemory(3, [] { return true; }));
  EXPECT_TRUE(*pusher->WaitForMemory(0, [] { return true; }));
  for (int64_t batch = 0; batch < width; ++batch) {
    if (batch == 1 || batch == 2) continue;
    ASSERT_TRUE(*pusher->WaitForMemory(batch, [] { return false; }));
    Step(pusher.get(), batch);
  }
  EXPECT_TRUE(*pusher->WaitForSteps([] { return false; }));
  for (const auto& ps : cluster.ps) {
    for (const float value : ps->Values()) EXPECT_EQ(value, -1);
  }
  cluster_.client.swap(cluster.client);
}

INSTANTIATE_TEST_SUITE_P(Widths, WideUpdateTest, ::testing::Values(1, 2, 8, 9, 16, 50, 100, 1000));

// The gradient of each of the 625 weights is 1, so the norm is 25.
class ClippingPusherTest : public GradientPusherTest {
 protected:
  ClippingPusherTest()
      : GradientPusherTest(
            {.rows = 625, .synchronous = true, .batches_per_update = 2, .clipnorm = 12.5}) {}

  std::optional<ClippedUpdate> clipped_update() const override {
    return ClippedUpdate(nn::GradientClip::Create(plan_.job().optimizer()).value(), model_.get(),
                         &table_);
  }
};

TEST_F(ClippingPusherTest, AnUpdateIsAppliedOnceWithTheScaleOfItsNorm) {
  const auto one = MakePusher();
  const auto other = MakePusher();
  for (int64_t update = 0; update < 10; ++update) {
    Step(one.get(), 2 * update);
    EXPECT_FALSE(*one->WaitForSteps([] { return true; }));
    Step(other.get(), 2 * update + 1);
    EXPECT_TRUE(*one->WaitForSteps([] { return false; }));
    EXPECT_TRUE(*other->WaitForSteps([] { return false; }));
    EXPECT_EQ(NextApplied() + NextApplied(), 4 * update + 1);
    ExpectValues(-0.5f * static_cast<float>(update + 1));
  }
  EXPECT_EQ(applied_.size(), 0u);
}

// Both workers die between the two stages: only one of them has sent its scales, and to one ps
// only.
TEST_F(ClippingPusherTest, APartlyAppliedUpdateIsCompletedByAnyOfItsBatches) {
  std::vector<BlockTable::Request> asked = table_.pushed();
  const std::vector<float> gradient(625, 1);
  BoundedQueue<bool> answers(100);
  proto::PushHeader header;
  header.set_job_id(plan_.job_id());
  header.set_generation(1);
  header.set_examples(4);
  for (const int64_t batch : {0, 1}) {
    for (const BlockTable::Request& request : asked) {
      proto::PushHeader push = header;
      push.set_batch(batch);
      std::vector<cluster::FramePiece> pieces;
      for (const uint32_t block : request.blocks) {
        push.add_blocks(block);
        pieces.push_back(cluster::FramePiece::Borrowed(
            absl::MakeConstSpan(gradient).subspan(0, table_.block(block).elements)));
      }
      cluster_.client->Push(request.ps, push, std::move(pieces), {},
                            [&](const auto& reply) { answers.Push(reply.ok()); });
    }
  }
  for (size_t i = 0; i < 2 * asked.size(); ++i) ASSERT_TRUE(answers.Pop(absl::Seconds(20)).value());
  for (const uint32_t block : asked.front().blocks) {
    header.mutable_apply()->add_blocks(block);
    header.mutable_apply()->add_scales(0.5f);
  }
  header.set_batch(0);
  cluster_.client->Push(asked.front().ps, header, {}, {},
                        [&](const auto& reply) { answers.Push(reply.ok()); });
  ASSERT_TRUE(answers.Pop(absl::Seconds(20)).value());
  const auto heir = MakePusher();
  Step(heir.get(), 1);
  EXPECT_EQ(NextApplied(), 1);
  ExpectValues(-0.5);
}

class WideClippingPusherTest : public GradientPusherTest {
 protected:
  WideClippingPusherTest()
      : GradientPusherTest({.rows = 625,
                            .batches_per_epoch = 120,
                            .epochs = 1,
                            .synchronous = true,
                            .batches_per_update = 40,
                            .clipnorm = 12.5}) {}

  std::optional<ClippedUpdate> clipped_update() const override {
    return ClippedUpdate(nn::GradientClip::Create(plan_.job().optimizer()).value(), model_.get(),
                         &table_);
  }
};

TEST_F(WideClippingPusherTest, AnUpdateWhoseGradientsAreBufferedIsScaledAndAppliedOnce) {
  const auto pusher = MakePusher(1, /*copy=*/true, /*gradient_memory=*/0);
  std::set<int64_t> applied;
  for (int64_t batch = 0; batch < 120; ++batch) {
    ASSERT_TRUE(*pusher->WaitForMemory(batch, [] { return false; }));
    Step(pusher.get(), batch);
    if (batch % 40 == 39) {
      EXPECT_TRUE(*pusher->WaitForSteps([] { return false; }));
      ExpectValues(-0.5f * static_cast<float>(batch / 40 + 1));
    }
  }
  for (int i = 0; i < 120; ++i) applied.insert(NextApplied());
  EXPECT_EQ(applied.size(), 120u);
  EXPECT_EQ(applied_.size(), 0u);
}

TEST_F(ClippingPusherTest, ABatchOfAnAppliedUpdateNeedsNoScales) {
  const auto pusher = MakePusher();
  for (int64_t batch : {0, 1, 2, 3}) {
    Step(pusher.get(), batch);
    if (batch % 2 == 0) continue;
    EXPECT_TRUE(*pusher->WaitForSteps([] { return false; }));
  }
  EXPECT_EQ(NextApplied() + NextApplied() + NextApplied() + NextApplied(), 6);
  const auto late = MakePusher();
  Step(late.get(), 0);
  EXPECT_EQ(NextApplied(), 0);
  ExpectValues(-1);
}

TEST_F(ClippingPusherTest, ACancelledStepIsNotReported) {
  for (int i = 0; i < 20; ++i) {
    auto pusher = MakePusher();
    Step(pusher.get(), 0);
    pusher.reset();
  }
  EXPECT_EQ(applied_.size(), 0u);
  ExpectValues(0);
}

TEST_F(GradientPusherTest, AnotherGenerationAppliesNothing) {
  const auto pusher = MakePusher(2);
  Step(pusher.get(), 0);
  const auto room = pusher->WaitForSteps([] { return false; });
  EXPECT_EQ(room.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(pusher->status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(applied_.size(), 0u);
  ExpectValues(0);
}

}  // namespace
}  // namespace cairn::worker
