#include "cluster/partition_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

namespace cairn::cluster {
namespace {

using Map = proto::PartitionMap;

constexpr int64_t kAlwaysSlice = 1;
constexpr int64_t kNeverSlice = int64_t{1} << 50;

// One shard for each ps if the variable has at least `min_slice_bytes`.
std::vector<VariableExtent> Sliced(std::vector<VariableExtent> variables, int ps_count,
                                   int64_t min_slice_bytes) {
  for (VariableExtent& variable : variables) {
    int64_t bytes = sizeof(float);
    for (const int64_t dimension : variable.shape) bytes *= dimension;
    variable.shards = bytes >= min_slice_bytes ? ps_count : 1;
  }
  return variables;
}

Map Place(const std::vector<VariableExtent>& variables, int ps_count, int64_t min_slice_bytes) {
  auto map =
      PlaceVariables(Sliced(variables, ps_count, min_slice_bytes), ps_count, Placement::kBalanced);
  EXPECT_TRUE(map.ok()) << map.status();
  EXPECT_TRUE(ValidatePartitionMap(*map).ok()) << ValidatePartitionMap(*map);
  return *map;
}

std::vector<int64_t> Loads(const Map& map) {
  std::vector<int64_t> loads(map.ps_count(), 0);
  for (int block = 0; block < map.blocks_size(); ++block) {
    loads[map.blocks(block).ps()] += BlockBytes(map, block);
  }
  return loads;
}

// The rows of each slice of a variable, in the order of rows. Adjacent blocks on one ps are one
// slice.
std::vector<int64_t> SliceRows(const Map& map, uint32_t variable) {
  std::vector<int64_t> rows;
  int64_t last_ps = -1;
  for (const Map::Block& found : map.blocks()) {
    if (found.variable() != variable) continue;
    if (found.ps() != last_ps) rows.push_back(0);
    rows.back() += found.row_end() - found.row_begin();
    last_ps = found.ps();
  }
  return rows;
}

TEST(PartitionMapTest, DivLayoutGivesTheFirstSlicesOneRowMore) {
  EXPECT_EQ(SliceRows(Place({{"v", {10, 3}}}, 3, kAlwaysSlice), 0),
            (std::vector<int64_t>{4, 3, 3}));
  EXPECT_EQ(SliceRows(Place({{"v", {11}}}, 3, kAlwaysSlice), 0), (std::vector<int64_t>{4, 4, 3}));
  EXPECT_EQ(SliceRows(Place({{"v", {12, 2, 2}}}, 4, kAlwaysSlice), 0),
            (std::vector<int64_t>{3, 3, 3, 3}));
}

TEST(PartitionMapTest, FewerRowsThanPsMakeFewerSlices) {
  const Map map = Place({{"v", {2, 5}}}, 3, kAlwaysSlice);
  EXPECT_EQ(SliceRows(map, 0), (std::vector<int64_t>{1, 1}));
  EXPECT_TRUE(BlocksOfPs(map, 2).empty());
}

TEST(PartitionMapTest, SmallVariablesAreNotSliced) {
  const Map map = Place({{"small", {8, 8}}, {"large", {9, 8}}}, 2, 9 * 8 * 4);
  EXPECT_EQ(SliceRows(map, 0).size(), 1u);
  EXPECT_EQ(SliceRows(map, 1).size(), 2u);
}

TEST(PartitionMapTest, LargestVariablesGoFirstToTheLeastLoadedPs) {
  // 50 -> ps 0; 40 -> ps 1; 30 -> ps 1 (40 < 50); 20 -> ps 0 (50 < 70): 70 and 70.
  const Map map = Place({{"a", {20}}, {"b", {50}}, {"c", {30}}, {"d", {40}}}, 2, kNeverSlice);
  EXPECT_EQ(map.blocks(0).ps(), 0u);
  EXPECT_EQ(map.blocks(1).ps(), 0u);
  EXPECT_EQ(map.blocks(2).ps(), 1u);
  EXPECT_EQ(map.blocks(3).ps(), 1u);
}

TEST(PartitionMapTest, LargeSlicesBecomeBlocksOfAtMostOneMebibyte) {
  const Map map = Place({{"v", {1000, 1000}}}, 1, kAlwaysSlice);  // 262 rows are 1,048,000 bytes.
  ASSERT_EQ(map.blocks_size(), 4);
  EXPECT_EQ(map.blocks(0).row_end(), 262);
  EXPECT_EQ(map.blocks(3).row_begin(), 786);
  EXPECT_EQ(BlockElements(map, 3), 214 * 1000);
  EXPECT_EQ(BlockOffset(map, 3), 786 * 1000);
}

TEST(PartitionMapTest, ARowLargerThanABlockIsItsOwnBlock) {
  const Map map = Place({{"v", {3, 1 << 20}}}, 1, kAlwaysSlice);
  EXPECT_EQ(map.blocks_size(), 3);
  EXPECT_EQ(BlockBytes(map, 1), 4 << 20);
}

TEST(PartitionMapTest, AWholeVariableIsOneBlock) {
  const Map map = Place({{"v", {1000, 1000}, true, 1, true}, {"w", {10, 2}}}, 2, kAlwaysSlice);
  ASSERT_EQ(map.blocks_size(), 3);
  EXPECT_EQ(BlockElements(map, 0), 1000 * 1000);
  Map divided = map;
  divided.mutable_variables(0)->set_whole(false);
  EXPECT_FALSE(ValidatePartitionMap(divided).ok());
  divided = Place({{"v", {1000, 1000}}}, 2, kAlwaysSlice);
  divided.mutable_variables(0)->set_whole(true);
  EXPECT_FALSE(ValidatePartitionMap(divided).ok());
  // 64 MiB fit into a block.
  EXPECT_EQ(Place({{"v", {1 << 12, 1 << 12}, true, 1, true}}, 2, kAlwaysSlice).blocks_size(), 1);
  const absl::Status status =
      PlaceVariables(std::vector<VariableExtent>{{"v", {(1 << 12) + 1, 1 << 12}, true, 1, true}}, 2,
                     Placement::kBalanced)
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.ToString().find("variable v"), std::string::npos) << status;
}

TEST(PartitionMapTest, ScalarIsOneRowOfOneElement) {
  const Map map = Place({{"s", {}, false}}, 2, kAlwaysSlice);
  ASSERT_EQ(map.blocks_size(), 1);
  EXPECT_EQ(BlockElements(map, 0), 1);
  EXPECT_FALSE(map.variables(0).pushed());
  EXPECT_EQ(VariableElements(map.variables(0)), 1);
}

std::vector<uint32_t> PsOfBlocks(const Map& map) {
  std::vector<uint32_t> ps;
  for (const Map::Block& block : map.blocks()) ps.push_back(block.ps());
  return ps;
}

TEST(PartitionMapTest, RoundRobinContinuesWhereTheLastVariableEnded) {
  const std::vector<VariableExtent> variables = {
      {"a", {100}, true, 2}, {"b", {3}, true, 1}, {"c", {7}, true, 5}};
  const auto map = PlaceVariables(variables, 3, Placement::kRoundRobin);
  ASSERT_TRUE(map.ok()) << map.status();
  EXPECT_TRUE(ValidatePartitionMap(*map).ok());
  EXPECT_EQ(PsOfBlocks(*map), (std::vector<uint32_t>{0, 1, 2, 0, 1, 2, 0, 1}));
  EXPECT_EQ(map->blocks(3).row_end() - map->blocks(3).row_begin(), 2) << "7 rows in 5 shards";
  EXPECT_EQ(map->blocks(7).row_end() - map->blocks(7).row_begin(), 1);
}

TEST(PartitionMapTest, MoreShardsThanPsAreBalanced) {
  const auto map =
      PlaceVariables(std::vector<VariableExtent>{{"v", {10}, true, 5}}, 2, Placement::kBalanced);
  ASSERT_TRUE(map.ok()) << map.status();
  EXPECT_EQ(PsOfBlocks(*map), (std::vector<uint32_t>{0, 1, 0, 1, 0}));
  const auto few =
      PlaceVariables(std::vector<VariableExtent>{{"v", {3}, true, 65537}}, 2, Placement::kBalanced);
  ASSERT_TRUE(few.ok()) << few.status();
  EXPECT_EQ(few->blocks_size(), 3) << "at most one shard for each row";
}

TEST(PartitionMapTest, TooManyShardsAreRefused) {
  const auto map = PlaceVariables(std::vector<VariableExtent>{{"v", {70000}, true, 65537}}, 2,
                                  Placement::kBalanced);
  EXPECT_EQ(map.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(map.status().message()),
            "the partitioner divides variable v into 65537 shards; a variable may have 65536");
}

TEST(PartitionMapTest, RandomModelsAreCoveredAndBalanced) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<VariableExtent> variables(1 + random() % 20);
    int64_t largest = 0;
    for (size_t i = 0; i < variables.size(); ++i) {
      variables[i].name = "v" + std::to_string(i);
      int64_t bytes = 4;
      for (int axis = random() % 4; axis > 0; --axis) {
        variables[i].shape.push_back(1 + random() % 60);
        bytes *= variables[i].shape.back();
      }
      largest = std::max(largest, bytes);
    }
    const int ps_count = 1 + random() % 5;
    const int64_t min_slice_bytes = random() % 100000;
    const Map map = Place(variables, ps_count, min_slice_bytes);
    EXPECT_EQ(map.SerializeAsString(),
              Place(variables, ps_count, min_slice_bytes).SerializeAsString());

    std::vector<std::vector<int>> covered;
    for (const auto& variable : map.variables()) covered.emplace_back(VariableElements(variable));
    size_t blocks = 0;
    for (int ps = 0; ps < ps_count; ++ps) {
      for (uint32_t block : BlocksOfPs(map, ps)) {
        ++blocks;
        for (int64_t i = 0; i < BlockElements(map, block); ++i) {
          ++covered[map.blocks(block).variable()][BlockOffset(map, block) + i];
        }
      }
    }
    EXPECT_EQ(blocks, static_cast<size_t>(map.blocks_size()));
    for (const auto& elements : covered) {
      EXPECT_TRUE(std::all_of(elements.begin(), elements.end(), [](int n) { return n == 1; }));
    }
    const auto loads = Loads(map);
    EXPECT_LE(*std::max_element(loads.begin(), loads.end()) -
                  *std::min_element(loads.begin(), loads.end()),
              largest);
  }
}

std::string WhyNotPlaced(std::vector<VariableExtent> variables, int ps_count = 1) {
  return std::string(PlaceVariables(variables, ps_count, Placement::kBalanced).status().message());
}

TEST(PartitionMapTest, InvalidVariablesAreRefusedByName) {
  EXPECT_EQ(WhyNotPlaced({{"v", {1}}}, 0), "a partition map for 0 ps; there must be at least 1");
  EXPECT_EQ(WhyNotPlaced({{"", {1}}}), "variable 0 has an empty name");
  EXPECT_EQ(WhyNotPlaced({{"v", {1}}, {"v", {2}}}), "two variables are named v");
  EXPECT_EQ(WhyNotPlaced({{"v", {4, 0}}}),
            "variable v has the shape [4, 0]: dimension 1 must be at least 1");
  EXPECT_EQ(WhyNotPlaced({{"v", {2, (16 << 20) + 1}}}),
            "variable v of shape [2, 16777217] is too large: a row of the first dimension may have "
            "67108864 bytes");
  EXPECT_EQ(WhyNotPlaced({{"v", {int64_t{1} << 62, 1}}}),
            "variable v of shape [4611686018427387904, 1] is too large: a model may have "
            "1099511627776 bytes");
  EXPECT_EQ(WhyNotPlaced({{"v", {int64_t{1} << 33, 1 << 10}}}),
            "the variables together are larger than 1099511627776 bytes");
  EXPECT_EQ(WhyNotPlaced({{"v", {2, int64_t{1} << 40, int64_t{1} << 40}}}),
            "variable v of shape [2, 1099511627776, 1099511627776] is too large: a row of the "
            "first dimension may have 67108864 bytes");
}

TEST(PartitionMapTest, RowOf64MebibytesIsTheLargest) {
  EXPECT_EQ(Place({{"v", {2, 16 << 20}}}, 1, 1).blocks_size(), 2);
}

// Everything but `ps` is unchanged.
void ExpectSameBlocks(const Map& moved, const Map& map) {
  ASSERT_EQ(moved.blocks_size(), map.blocks_size());
  for (int block = 0; block < map.blocks_size(); ++block) {
    Map::Block there = moved.blocks(block);
    there.set_ps(map.blocks(block).ps());
    EXPECT_EQ(there.SerializeAsString(), map.blocks(block).SerializeAsString());
  }
}

TEST(PartitionMapTest, RebalanceBlocksBalancesLoadsForMoreOrFewerPs) {
  const Map map = Place({{"a", {3000, 700}}, {"b", {50}}, {"c", {1 << 20}}}, 3, kAlwaysSlice);
  for (const uint32_t ps_count : {1, 2, 3, 4, 7, 40}) {
    const Map moved = RebalanceBlocks(map, ps_count);
    EXPECT_EQ(moved.ps_count(), ps_count);
    EXPECT_TRUE(ValidatePartitionMap(moved).ok()) << ValidatePartitionMap(moved);
    ExpectSameBlocks(moved, map);
    const std::vector<int64_t> loads = Loads(moved);
    const auto [least, most] = std::minmax_element(loads.begin(), loads.end());
    EXPECT_LE(*most - *least, kBlockBytesMax) << ps_count;
  }
}

TEST(PartitionMapTest, RebalanceBlocksMovesAsFewBlocksAsPossible) {
  const Map map = Place({{"a", {6000, 1024}}}, 2, kAlwaysSlice);
  EXPECT_EQ(RebalanceBlocks(map, 2).SerializeAsString(), map.SerializeAsString());
  const Map grown = RebalanceBlocks(map, 3);
  int stayed = 0;
  for (int block = 0; block < map.blocks_size(); ++block) {
    const bool same = grown.blocks(block).ps() == map.blocks(block).ps();
    stayed += same ? 1 : 0;
    EXPECT_TRUE(same || grown.blocks(block).ps() == 2) << "nothing moves between those who stay";
  }
  EXPECT_GE(stayed, map.blocks_size() * 2 / 3 - 2);
}

TEST(PartitionMapTest, BlocksOfAbsentPsMoveToTheOthersAndNoOtherBlockMoves) {
  const Map map = Place({{"a", {3000, 700}}, {"b", {50}}, {"c", {1 << 20}}}, 4, kAlwaysSlice);
  ASSERT_EQ(MembersOf(map), (std::vector<uint32_t>{0, 1, 2, 3}));
  for (const std::set<uint32_t>& absent : {std::set<uint32_t>{}, {2}, {0, 3}, {0, 1, 3}}) {
    const Map moved = MoveBlocksFrom(absent, map);
    EXPECT_EQ(moved.ps_count(), 4u);
    EXPECT_TRUE(ValidatePartitionMap(moved).ok()) << ValidatePartitionMap(moved);
    ExpectSameBlocks(moved, map);
    std::vector<uint32_t> members;
    for (const uint32_t ps : {0, 1, 2, 3}) {
      if (!absent.contains(ps)) members.push_back(ps);
    }
    EXPECT_EQ(MembersOf(moved), members);
    for (int block = 0; block < map.blocks_size(); ++block) {
      if (absent.contains(map.blocks(block).ps())) continue;
      EXPECT_EQ(moved.blocks(block).ps(), map.blocks(block).ps());
    }
    std::vector<int64_t> loads;
    for (const uint32_t ps : members) loads.push_back(Loads(moved)[ps]);
    const auto [least, most] = std::minmax_element(loads.begin(), loads.end());
    EXPECT_LE(*most - *least, kBlockBytesMax);
  }
}

TEST(PartitionMapTest, RebalanceBlocksGivesBlocksToAbsentPs) {
  const Map map = Place({{"a", {3000, 700}}, {"b", {50}}, {"c", {1 << 20}}}, 4, kAlwaysSlice);
  const Map full = RebalanceBlocks(MoveBlocksFrom({1, 3}, map), 4);
  EXPECT_EQ(full.absent_size(), 0);
  EXPECT_TRUE(ValidatePartitionMap(full).ok()) << ValidatePartitionMap(full);
  ExpectSameBlocks(full, map);
  EXPECT_EQ(MembersOf(full), (std::vector<uint32_t>{0, 1, 2, 3}));
  const std::vector<int64_t> loads = Loads(full);
  const auto [least, most] = std::minmax_element(loads.begin(), loads.end());
  EXPECT_LE(*most - *least, kBlockBytesMax);
}

TEST(PartitionMapTest, WithFewerBlocksThanPsAllPsAreMembers) {
  const Map map = Place({{"a", {5}}, {"b", {3}}}, 3, 1 << 20);
  ASSERT_EQ(map.blocks_size(), 2);
  EXPECT_EQ(MembersOf(map), (std::vector<uint32_t>{0, 1, 2}));
  // Except those that are absent, with or without blocks.
  for (const uint32_t absent : {0, 1, 2}) {
    const Map moved = MoveBlocksFrom({absent}, map);
    EXPECT_TRUE(ValidatePartitionMap(moved).ok()) << ValidatePartitionMap(moved);
    ExpectSameBlocks(moved, map);
    std::vector<uint32_t> members = {0, 1, 2};
    std::erase(members, absent);
    EXPECT_EQ(MembersOf(moved), members);
    EXPECT_EQ(MembersOf(RebalanceBlocks(moved, 4)), (std::vector<uint32_t>{0, 1, 2, 3}));
  }
}

TEST(PartitionMapTest, InvalidMapsAreRefused) {
  const Map good = Place({{"a", {10, 2}}, {"b", {7}}}, 2, kAlwaysSlice);
  const auto refused = [&](const std::function<void(Map*)>& change) {
    Map map = good;
    change(&map);
    return absl::IsInvalidArgument(ValidatePartitionMap(map));
  };
  EXPECT_TRUE(refused([](Map* map) { map->set_ps_count(0); }));
  EXPECT_TRUE(refused([](Map* map) { map->add_absent(2); }));
  EXPECT_TRUE(refused([](Map* map) { map->add_absent(map->blocks(0).ps()); }));
  EXPECT_TRUE(refused([](Map* map) { map->set_ps_count(1); }));
  EXPECT_TRUE(refused([](Map* map) { map->mutable_blocks()->RemoveLast(); }));
  EXPECT_TRUE(refused([](Map* map) { *map->add_blocks() = map->blocks(0); }));
  EXPECT_TRUE(refused([](Map* map) { map->mutable_blocks(0)->set_row_end(4); }));
  EXPECT_TRUE(refused([](Map* map) { map->mutable_blocks(0)->set_row_end(0); }));
  EXPECT_TRUE(refused([](Map* map) { map->mutable_blocks(1)->set_row_end(11); }));
  EXPECT_TRUE(refused([](Map* map) { map->mutable_blocks(0)->set_row_begin(-1); }));
  EXPECT_TRUE(refused([](Map* map) { map->mutable_blocks(0)->set_variable(1); }));
  EXPECT_TRUE(refused([](Map* map) { map->mutable_blocks(0)->set_variable(9); }));
  EXPECT_TRUE(refused([](Map* map) { map->mutable_blocks()->SwapElements(0, 1); }));
  EXPECT_TRUE(refused([](Map* map) { map->mutable_variables(0)->set_shape(0, 0); }));
  EXPECT_TRUE(refused([](Map* map) { map->mutable_variables(0)->set_name("b"); }));
  EXPECT_TRUE(refused([](Map* map) { map->mutable_variables(0)->set_shape(1, 1 << 20); }))
      << "blocks would be too large";
}

}  // namespace
}  // namespace cairn::cluster
