#include "worker/strategy/block_table.h"

#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "tests/parameters/test_job.h"
#include "tests/worker/counting_plan.h"

namespace cairn::worker {
namespace {

BlockTable TableOf(const proto::JobPlan& plan) {
  const auto model = nn::Model::Create(plan.model());
  auto table = BlockTable::Create(plan.partition(), **model);
  EXPECT_TRUE(table.ok()) << table.status();
  return *std::move(table);
}

TEST(BlockTableTest, EveryElementOfEveryVariableIsInOneBlock) {
  const proto::JobPlan plan = parameters::MakePlan({.ps_count = 3});
  const auto model = nn::Model::Create(plan.model());
  const BlockTable table = TableOf(plan);
  for (int variable = 0; variable < table.variable_count(); ++variable) {
    int64_t elements = 0;
    for (uint32_t block : table.blocks_of(variable)) {
      EXPECT_EQ(table.block(block).offset, elements);
      elements += table.block(block).elements;
    }
    EXPECT_EQ(elements, (*model)->variables()[variable].element_count());
  }
}

TEST(BlockTableTest, RequestsHoldEachBlockOnceAndPushedOnesNoFrozenBlock) {
  const BlockTable table = TableOf(parameters::MakePlan({.ps_count = 2}));
  std::multiset<uint32_t> all, pushed;
  int64_t pushed_elements = 0;
  for (const auto& request : table.all()) {
    for (uint32_t block : request.blocks) {
      EXPECT_EQ(table.block(block).ps, request.ps);
      all.insert(block);
    }
  }
  for (const auto& request : table.pushed()) {
    for (uint32_t block : request.blocks) {
      EXPECT_TRUE(table.block(block).pushed);
      pushed.insert(block);
      pushed_elements += table.block(block).elements;
    }
  }
  EXPECT_EQ(static_cast<int>(all.size()), table.block_count());
  EXPECT_EQ(std::set<uint32_t>(all.begin(), all.end()).size(), all.size());
  EXPECT_LT(pushed.size(), all.size());
  EXPECT_EQ(pushed_elements, table.pushed_elements());
}

TEST(BlockTableTest, RequestsAreOfOneToTwoMebibytes) {
  const BlockTable table = TableOf(
      CountingPlan({.rows = 3000000, .batches_per_epoch = 1, .batch_size = 1, .ps_count = 1}));
  ASSERT_GT(table.all().size(), 2u);
  for (size_t i = 0; i < table.all().size(); ++i) {
    int64_t bytes = 0;
    for (uint32_t block : table.all()[i].blocks) bytes += table.block(block).elements * 4;
    EXPECT_LE(bytes, 2 * BlockTable::kRequestBytes);
    const bool is_last = i + 1 == table.all().size();
    EXPECT_TRUE(is_last || bytes >= BlockTable::kRequestBytes) << bytes;
  }
}

TEST(BlockTableTest, AMapOfOtherVariablesIsRefused) {
  const proto::JobPlan plan = CountingPlan({});
  const auto model = nn::Model::Create(plan.model());
  proto::PartitionMap map = plan.partition();
  map.mutable_variables(0)->set_pushed(false);
  EXPECT_FALSE(BlockTable::Create(map, **model).ok());
  map = plan.partition();
  map.mutable_blocks(0)->set_row_end(1);
  EXPECT_FALSE(BlockTable::Create(map, **model).ok());
  EXPECT_FALSE(BlockTable::Create(proto::PartitionMap(), **model).ok());
}

}  // namespace
}  // namespace cairn::worker
