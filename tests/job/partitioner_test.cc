#include "job/partitioner.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cairn::job {
namespace {

proto::Partitioner Partitioner(const std::string& text) {
  proto::Partitioner partitioner;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &partitioner)) << text;
  return partitioner;
}

struct Case {
  std::string partitioner;
  std::vector<int64_t> shape;
  int64_t shards;
};

TEST(PartitionerTest, ShardsAreThoseOfTensorFlow) {
  // What tf.distribute.experimental.partitioners of TensorFlow 2.21.0 return for these shapes.
  const std::vector<Case> cases = {
      {"fixed_shards: 1", {4097, 128, 3}, 1},
      {"fixed_shards: 1", {64, 128, 1}, 1},
      {"fixed_shards: 2", {2, 3}, 2},
      {"fixed_shards: 2", {64, 17}, 2},
      {"fixed_shards: 3", {1, 3, 17}, 1},
      {"fixed_shards: 3", {10, 1}, 3},
      {"fixed_shards: 3", {1000}, 3},
      {"fixed_shards: 3", {2, 3}, 2},
      {"fixed_shards: 3", {2}, 2},
      {"fixed_shards: 3", {4097}, 3},
      {"fixed_shards: 5000", {4097, 3}, 4097},
      {"fixed_shards: 8", {1, 17}, 1},
      {"max_size { max_shard_bytes: 1 max_shards: 5 }", {2, 1, 128}, 2},
      {"max_size { max_shard_bytes: 100 max_shards: 1 }", {1000, 1, 3}, 1},
      {"max_size { max_shard_bytes: 100 max_shards: 1 }", {7, 1}, 1},
      {"max_size { max_shard_bytes: 1024 max_shards: 1 }", {10, 17}, 1},
      {"max_size { max_shard_bytes: 262144 max_shards: 100 }", {2}, 1},
      {"max_size { max_shard_bytes: 262144 max_shards: 2 }", {3, 17}, 1},
      {"max_size { max_shard_bytes: 262144 max_shards: 2 }", {7, 17, 1}, 1},
      {"max_size { max_shard_bytes: 262144 max_shards: 5 }", {10}, 1},
      {"max_size { max_shard_bytes: 4 max_shards: 1 }", {10, 3}, 1},
      {"max_size { max_shard_bytes: 4 max_shards: 1 }", {1000, 128}, 1},
      {"max_size { max_shard_bytes: 4 max_shards: 1 }", {2, 128}, 1},
      {"max_size { max_shard_bytes: 4 max_shards: 5 }", {1, 17}, 1},
      {"max_size { max_shard_bytes: 4 max_shards: 5 }", {1000, 17}, 5},
      {"max_size { max_shard_bytes: 4 max_shards: 5 }", {3, 1, 17}, 3},
      {"max_size { max_shard_bytes: 4 max_shards: 5 }", {4097}, 5},
      {"min_size { min_shard_bytes: 1 max_shards: 2 }", {1000, 3}, 2},
      {"min_size { min_shard_bytes: 1 max_shards: 2 }", {10}, 2},
      {"min_size { min_shard_bytes: 1 max_shards: 5 }", {4097, 3}, 5},
      {"min_size { min_shard_bytes: 1 max_shards: 5 }", {64}, 5},
      {"min_size { min_shard_bytes: 1 }", {1000, 128}, 1},
      {"min_size { min_shard_bytes: 1 }", {4097, 128}, 1},
      {"min_size { min_shard_bytes: 100 max_shards: 100 }", {7, 17, 3}, 7},
      {"min_size { min_shard_bytes: 100 max_shards: 5 }", {64, 3, 17}, 5},
      {"min_size { min_shard_bytes: 1024 max_shards: 1 }", {1}, 1},
      {"min_size { min_shard_bytes: 1024 }", {3, 17}, 1},
      {"min_size { min_shard_bytes: 262144 max_shards: 1 }", {1, 17}, 1},
      {"min_size { min_shard_bytes: 262144 max_shards: 1 }", {4097, 1, 3}, 1},
      {"min_size { min_shard_bytes: 262144 }", {10, 3}, 1},
      {"min_size { min_shard_bytes: 4 max_shards: 100 }", {7}, 7},
      {"min_size { min_shard_bytes: 4 max_shards: 2 }", {10, 1}, 2},
      {"min_size { min_shard_bytes: 4 max_shards: 5 }", {1000, 128}, 5},
      {"min_size { min_shard_bytes: 4096 max_shards: 2 }", {1000, 128, 1}, 2},
      {"min_size { min_shard_bytes: 4096 max_shards: 2 }", {7, 17}, 1},
      {"min_size { min_shard_bytes: 4096 max_shards: 5 }", {10}, 1},
      {"min_size { min_shard_bytes: 4096 max_shards: 5 }", {7, 17}, 1},
      {"min_size { min_shard_bytes: 50 max_shards: 2 }", {64}, 2},
  };
  for (const Case& expected : cases) {
    const proto::Partitioner partitioner = Partitioner(expected.partitioner);
    ASSERT_TRUE(CheckPartitioner(partitioner).ok()) << expected.partitioner;
    EXPECT_EQ(ShardsOf(partitioner, expected.shape, /*ps_count=*/3), expected.shards)
        << expected.partitioner;
  }
}

TEST(PartitionerTest, ByDefaultLargeVariablesHaveAShardForEachPs) {
  EXPECT_EQ(ShardsOf({}, {65535}, 4), 1);
  EXPECT_EQ(ShardsOf({}, {65536}, 4), 4);
  EXPECT_EQ(ShardsOf({}, {2, 1000000}, 4), 2) << "no shard without a row";
  EXPECT_EQ(ShardsOf({}, {}, 4), 1);
  EXPECT_EQ(ShardsOf(Partitioner("min_slice_bytes: 4"), {}, 4), 1);
  EXPECT_EQ(ShardsOf(Partitioner("min_slice_bytes: 41"), {10}, 4), 1);
  EXPECT_EQ(ShardsOf(Partitioner("min_slice_bytes: 40"), {10}, 4), 4);
}

TEST(PartitionerTest, AbsurdShapesDoNotOverflow) {
  const std::vector<int64_t> absurd = {int64_t{1} << 62, int64_t{1} << 62, int64_t{1} << 62};
  for (const char* const text : {"min_slice_bytes: 1", "fixed_shards: 65536",
                                 "min_size { min_shard_bytes: 1 max_shards: 65536 }",
                                 "max_size { max_shard_bytes: 1 max_shards: 7 }"}) {
    const int64_t shards = ShardsOf(Partitioner(text), absurd, 100);
    EXPECT_GE(shards, 1) << text;
    EXPECT_LE(shards, 65536) << text;
  }
}

TEST(PartitionerTest, PlacementIsBalancedByDefault) {
  EXPECT_EQ(PlacementOf({}), cluster::Placement::kBalanced);
  EXPECT_EQ(PlacementOf(Partitioner("placement: 'balanced'")), cluster::Placement::kBalanced);
  EXPECT_EQ(PlacementOf(Partitioner("placement: 'round_robin' fixed_shards: 2")),
            cluster::Placement::kRoundRobin);
}

TEST(PartitionerTest, TheTextHasTheDefaults) {
  EXPECT_EQ(PartitionerText(Partitioner("")), "min_slice_bytes 262144");
  EXPECT_EQ(PartitionerText(Partitioner("min_slice_bytes: 4")), "min_slice_bytes 4");
  EXPECT_EQ(PartitionerText(Partitioner("fixed_shards: 3")), "fixed_shards 3");
  EXPECT_EQ(PartitionerText(Partitioner("min_size { max_shards: 2 }")),
            "min_size: min_shard_bytes 262144, max_shards 2");
  EXPECT_EQ(PartitionerText(Partitioner("max_size { max_shard_bytes: 7 }")),
            "max_size: max_shard_bytes 7");
}

TEST(PartitionerTest, BadFieldsAreRefused) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"fixed_shards: 0", "partitioner.fixed_shards: 0 is not from 1 to 65536"},
      {"fixed_shards: 65537", "partitioner.fixed_shards: 65537 is not from 1 to 65536"},
      {"min_slice_bytes: 0", "partitioner.min_slice_bytes: 0 is not from 1 to 1125899906842624"},
      {"min_size { min_shard_bytes: -1 }",
       "partitioner.min_size.min_shard_bytes: -1 is not from 1 to 1125899906842624"},
      {"min_size { max_shards: 0 }", "partitioner.min_size.max_shards: 0 is not from 1 to 65536"},
      {"max_size { }", "partitioner.max_size.max_shard_bytes: is missing or 0; say the largest"},
      {"max_size { max_shard_bytes: -1 }",
       "partitioner.max_size.max_shard_bytes: -1 is not from 1 to 1125899906842624"},
      {"max_size { max_shard_bytes: 5 max_shards: 0 }",
       "partitioner.max_size.max_shards: 0 is not from 1 to 65536"},
      {"placement: 'robin'", "partitioner.placement: \"robin\" is not one of balanced, round_rob"},
  };
  for (const auto& [text, message] : cases) {
    const absl::Status status = CheckPartitioner(Partitioner(text));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_EQ(std::string(status.message()).rfind(message, 0), 0u) << status;
  }
}

}  // namespace
}  // namespace cairn::job
