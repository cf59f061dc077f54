#include "parameters/snapshots/stored_block.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cairn::parameters {
namespace {

proto::BlockHeader HeaderOf(std::vector<int64_t> shape, int64_t begin, int64_t end, int slots = 0) {
  proto::BlockHeader header;
  header.set_variable("dense/kernel");
  header.mutable_variable_shape()->Assign(shape.begin(), shape.end());
  header.set_row_begin(begin);
  header.set_row_end(end);
  for (int slot = 0; slot < slots; ++slot) header.add_slots("m");
  return header;
}

storage::BlockRecord RecordOf(const std::string& header, const std::vector<float>& payload) {
  const std::string values(reinterpret_cast<const char*>(payload.data()),
                           payload.size() * sizeof(float));
  return storage::BlockRecord("xyz" + header + values, 3, header.size());
}

absl::StatusOr<StoredBlock> Parse(const proto::BlockHeader& header,
                                  const std::vector<float>& payload) {
  return StoredBlock::Parse(4, RecordOf(header.SerializeAsString(), payload));
}

TEST(StoredBlock, ReturnsValuesAndSlotsSeparately) {
  const auto block = Parse(HeaderOf({5, 2}, 3, 5, 1), {1, 2, 3, 4, 5, 6, 7, 8});
  ASSERT_TRUE(block.ok()) << block.status();
  EXPECT_EQ(block->count(), 4);
  std::vector<float> values(4), slots(4);
  block->CopyValues(values.data());
  block->CopySlots(slots.data());
  EXPECT_EQ(values, (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(slots, (std::vector<float>{5, 6, 7, 8}));
}

TEST(StoredBlock, TrainedValuesAreTheAverageIfThereIsOne) {
  proto::BlockHeader header = HeaderOf({2}, 0, 2, 1);
  header.add_slots("average");
  std::vector<float> values(2);
  Parse(header, {1, 2, 3, 4, 5, 6})->CopyTrainedValues(values.data());
  EXPECT_EQ(values, (std::vector<float>{1, 2})) << "before the first update";
  header.set_version(1);
  Parse(header, {1, 2, 3, 4, 5, 6})->CopyTrainedValues(values.data());
  EXPECT_EQ(values, (std::vector<float>{5, 6}));
  header = HeaderOf({2}, 0, 2, 1);
  header.set_version(1);
  Parse(header, {1, 2, 3, 4})->CopyTrainedValues(values.data());
  EXPECT_EQ(values, (std::vector<float>{1, 2})) << "without an average";
}

TEST(StoredBlock, AScalarHasOneRow) {
  EXPECT_EQ(*CountElements(HeaderOf({}, 0, 1)), 1);
  EXPECT_FALSE(CountElements(HeaderOf({}, 0, 2)).ok());
}

TEST(StoredBlock, InconsistentBlocksAreDataLossWithTheirIds) {
  const auto message = [](const absl::StatusOr<StoredBlock>& block) {
    EXPECT_EQ(block.status().code(), absl::StatusCode::kDataLoss);
    return block.status().ToString();
  };
  EXPECT_NE(message(Parse(HeaderOf({5, 2}, 3, 5), {1, 2, 3})).find("12 bytes, expected 16"),
            std::string::npos);
  EXPECT_NE(message(Parse(HeaderOf({5, 2}, 3, 6), {1})).find("dense/kernel"), std::string::npos);
  EXPECT_NE(message(StoredBlock::Parse(4, RecordOf("\xff\xff", {1}))).find("block 4"),
            std::string::npos);
  message(Parse(HeaderOf({1 << 30, 1 << 30, 1 << 30}, 0, 1 << 30), {1}));
  message(Parse(HeaderOf({2, 0}, 0, 2), {}));
}

}  // namespace
}  // namespace cairn::parameters
