#include "parameters/blocks/ledger_summary.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/parameters/test_job.h"

namespace cairn::parameters {
namespace {

TEST(LedgerSummary, IsTheIntersectionAndTheUnionOverPushedBlocks) {
  const auto layout = MakeLayout({});
  std::vector<BlockState> states(layout->blocks().size());
  for (size_t position = 0; position < states.size(); ++position) {
    // All pushed blocks have 0 and 1, the first has 3, the second 4. Frozen blocks are ignored.
    if (!layout->blocks()[position].pushed()) continue;
    for (const int64_t batch : {0, 1}) (void)*states[position].ledger.TestAndSet(batch);
  }
  (void)*states[0].ledger.TestAndSet(3);
  (void)*states[1].ledger.TestAndSet(4);
  const proto::LedgerReply reply = SummarizeLedgers(*layout, 9, states);
  EXPECT_EQ(reply.job_id(), 7);
  EXPECT_EQ(reply.generation(), 9);
  EXPECT_EQ(reply.blocks(), 6);
  EXPECT_EQ(reply.applied_on_all().low_water(), 2);
  EXPECT_EQ(reply.applied_on_all().above(), "");
  EXPECT_EQ(reply.applied_on_any().low_water(), 2);
  EXPECT_EQ(reply.applied_on_any().above(), std::string("\x06"));
}

TEST(LedgerSummary, APsWithoutPushedBlocksHasNoLedgers) {
  TestJobOptions options;
  options.ps_count = 7;  // More than any variable has rows, so some ps have few blocks.
  for (options.ps = 0; options.ps < 7; ++options.ps) {
    const auto layout = MakeLayout(options);
    uint32_t pushed = 0;
    for (const BlockSpec& block : layout->blocks()) pushed += block.pushed();
    const proto::LedgerReply reply =
        SummarizeLedgers(*layout, 1, std::vector<BlockState>(layout->blocks().size()));
    EXPECT_EQ(reply.blocks(), pushed);
    EXPECT_EQ(reply.has_applied_on_all(), pushed > 0);
    EXPECT_EQ(reply.has_applied_on_any(), pushed > 0);
  }
}

}  // namespace
}  // namespace cairn::parameters
