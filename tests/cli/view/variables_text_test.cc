#include "cli/view/variables_text.h"

#include <gtest/gtest.h>

#include "google/protobuf/text_format.h"

namespace cairn::cli {
namespace {

using nlohmann::json;

proto::JobPlan Plan() {
  proto::JobPlan plan;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
      partition {
        ps_count: 2
        variables { name: "dense/kernel" shape: [7, 100] pushed: true }
        variables { name: "scale" pushed: true }
        variables { name: "fixed/bias" shape: 3 }
        blocks { variable: 0 row_end: 4 ps: 0 }
        blocks { variable: 0 row_begin: 4 row_end: 7 ps: 1 }
        blocks { variable: 1 row_end: 1 ps: 1 }
        blocks { variable: 2 row_end: 3 ps: 1 }
      })",
                                                            &plan));
  return plan;
}

TEST(VariablesTextTest, HasALineForEachShardAndOneForEachPs) {
  EXPECT_EQ(VariablesText(Plan()),
            "  partitioner  min_slice_bytes 262144, placement balanced\n"
            "  VARIABLE             SHAPE    ROWS  PS  BYTES\n"
            "  dense/kernel         7 x 100  0:4   0   1.6 KiB\n"
            "  dense/kernel         7 x 100  4:7   1   1.2 KiB\n"
            "  scale                scalar   0:1   1   4 B\n"
            "  fixed/bias (frozen)  3        0:3   1   12 B\n"
            "  ps 0 has 1 shard, 1.6 KiB\n"
            "  ps 1 has 3 shards, 1.2 KiB\n");
}

TEST(VariablesTextTest, WithoutPsTheWorkersHaveThem) {
  proto::JobPlan plan = Plan();
  plan.mutable_job()->mutable_strategy()->mutable_multi_worker_mirrored();
  plan.mutable_job()->mutable_partitioner()->set_fixed_shards(2);
  plan.mutable_job()->mutable_partitioner()->set_placement("round_robin");
  const std::string text = VariablesText(plan);
  EXPECT_NE(text.find("partitioner  fixed_shards 2, placement round_robin\n"), std::string::npos);
  EXPECT_NE(text.find("ROWS  WORKER  BYTES"), std::string::npos) << text;
  EXPECT_NE(text.find("worker 1 has 3 shards"), std::string::npos) << text;
}

TEST(VariablesTextTest, JsonHasALineForEachVariable) {
  const auto lines = VariablesJson(Plan());
  ASSERT_EQ(lines.size(), 3);
  EXPECT_EQ(json(lines[0]), json::parse(R"({
      "variable": "dense/kernel", "shape": [7, 100], "frozen": false, "bytes": 2800,
      "partitioner": "min_slice_bytes 262144", "placement": "balanced",
      "shards": [{"rows": [0, 4], "ps": 0, "bytes": 1600},
                 {"rows": [4, 7], "ps": 1, "bytes": 1200}]})"));
  EXPECT_EQ(lines[1]["shape"], json::array());
  EXPECT_EQ(lines[2]["frozen"], true);
}

}  // namespace
}  // namespace cairn::cli
