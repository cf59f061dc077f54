#include "worker/strategy/value_puller.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "tests/worker/counting_plan.h"
#include "tests/worker/test_ps.h"

namespace cairn::worker {
namespace {

class ValuePullerTest : public ::testing::Test {
 protected:
  ValuePullerTest()
      : plan_(CountingPlan({.window = 0})),
        cluster_(plan_),
        model_(*nn::Model::Create(plan_.model())),
        table_(*BlockTable::Create(plan_.partition(), *model_)),
        values_(600, 5.0f),
        puller_(cluster_.client.get(), &table_, 1) {}

  absl::StatusOr<PullResult> Pull(int64_t batch, uint64_t generation,
                                  absl::FunctionRef<bool()> should_abandon) {
    proto::PullHeader header;
    header.set_job_id(plan_.job_id());
    header.set_generation(generation);
    header.set_batch(batch);
    const auto destination = [this](uint32_t block) {
      return absl::MakeSpan(values_).subspan(table_.block(block).offset,
                                             table_.block(block).elements);
    };
    return puller_.Pull(header, table_.all(), destination, should_abandon);
  }

  proto::JobPlan plan_;
  TestCluster cluster_;
  std::unique_ptr<nn::Model> model_;
  BlockTable table_;
  std::vector<float> values_;
  ValuePuller puller_;
};

TEST_F(ValuePullerTest, FetchesEveryBlock) {
  const auto result = Pull(0, 1, [] { return false; });
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(*result, PullResult::kValues);
  EXPECT_EQ(values_, std::vector<float>(600, 0.0f));
}

TEST_F(ValuePullerTest, AParkedPullIsGivenUpAtOnceWhenWoken) {
  std::atomic<bool> abandon = false;
  std::thread thread([&] {
    absl::SleepFor(absl::Milliseconds(10));
    abandon = true;
    puller_.Wake();
  });
  // The window is 0: batch 1 waits for batch 0.
  EXPECT_EQ(*Pull(1, 1, [&] { return abandon.load(); }), PullResult::kAbandoned);
  thread.join();
  EXPECT_EQ(*Pull(0, 1, [] { return false; }), PullResult::kValues);
}

TEST_F(ValuePullerTest, AnotherGenerationIsAnError) {
  EXPECT_EQ(Pull(0, 2, [] { return false; }).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

// A thousand workers that wait for the same update of large shares must not exhaust what may wait
// at a ps.
TEST(ValuePullerOfLargeSharesTest, OneRequestWaitsForTheValuesOfAPs) {
  const proto::JobPlan plan = CountingPlan(
      {.rows = 3000000, .batches_per_epoch = 2, .batch_size = 1, .window = 0, .ps_count = 1});
  TestCluster cluster(plan);
  const auto model = *nn::Model::Create(plan.model());
  const BlockTable table = *BlockTable::Create(plan.partition(), *model);
  ASSERT_GT(table.all().size(), 5u);
  std::vector<float> values(3000000, 5.0f);
  ValuePuller puller(cluster.client.get(), &table, 1);
  proto::PullHeader header;
  header.set_job_id(plan.job_id());
  header.set_generation(1);
  const auto destination = [&](uint32_t block) {
    return absl::MakeSpan(values).subspan(table.block(block).offset, table.block(block).elements);
  };
  const auto& pulls = cluster.ps[0]->store().counters().pulls;
  int asked = 0;
  // The window is 0: batch 1 waits for batch 0.
  header.set_batch(1);
  EXPECT_EQ(
      *puller.Pull(header, table.all(), destination, [&] { return pulls > 0 && ++asked > 3; }),
      PullResult::kAbandoned);
  EXPECT_EQ(pulls, 1);
  header.set_batch(0);
  EXPECT_EQ(*puller.Pull(header, table.all(), destination, [] { return false; }),
            PullResult::kValues);
  EXPECT_EQ(pulls, 1 + static_cast<int64_t>(table.all().size()));
  EXPECT_EQ(values, std::vector<float>(3000000, 0.0f));
}

}  // namespace
}  // namespace cairn::worker
