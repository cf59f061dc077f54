#include "worker/data/features/feature_hash.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace cairn::worker {
namespace {

// The expected bins are those of keras.layers.Hashing with TensorFlow.

std::vector<std::string> Texts() { return {"", "a", "Bern", "été", std::string(100, 'x')}; }
const std::vector<int64_t> kNumbers = {0, -5, 7, 123456789012, int64_t{1} << 62};

template <typename Values>
std::vector<int64_t> BinsOf(const proto::Hashing& spec, const Values& values) {
  const FeatureHash hash(spec);
  std::vector<int64_t> bins;
  for (const auto& value : values) bins.push_back(hash.BinOf(value));
  return bins;
}

proto::Hashing Bins(int64_t count) {
  proto::Hashing spec;
  spec.set_num_bins(count);
  return spec;
}

TEST(FeatureHashTest, TextsAndNumbersHaveTheBinsOfKeras) {
  EXPECT_EQ(BinsOf(Bins(1000), Texts()), (std::vector<int64_t>{263, 939, 591, 534, 719}));
  EXPECT_EQ(BinsOf(Bins(1000), kNumbers), (std::vector<int64_t>{735, 816, 88, 427, 503}));
}

TEST(FeatureHashTest, ASaltOfOneNumberStandsForTwo) {
  proto::Hashing spec = Bins(1000);
  spec.add_salt(133);
  spec.add_salt(137);
  EXPECT_EQ(BinsOf(spec, Texts()), (std::vector<int64_t>{900, 354, 800, 67, 496}));
  spec.clear_salt();
  spec.add_salt(7);
  EXPECT_EQ(BinsOf(spec, Texts()), (std::vector<int64_t>{358, 166, 767, 161, 278}));
}

TEST(FeatureHashTest, AMaskHasBinZeroAlone) {
  proto::Hashing spec = Bins(10);
  spec.set_mask_value_word("a");
  EXPECT_EQ(BinsOf(spec, Texts()), (std::vector<int64_t>{6, 0, 8, 6, 5}));
  spec.clear_mask_value_word();
  spec.set_mask_value(7);
  EXPECT_EQ(BinsOf(spec, kNumbers), (std::vector<int64_t>{2, 1, 0, 7, 4}));
  spec.set_num_bins(1);
  EXPECT_EQ(BinsOf(spec, kNumbers), (std::vector<int64_t>{0, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace cairn::worker
