#include "nn/cpu/blocked_kernel.h"

#include <vector>

#include "common/random.h"
#include "gtest/gtest.h"

namespace cairn::nn {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

class BlockedKernelTest : public ::testing::Test {
 protected:
  memory::desc Keras() const {
    return memory::desc(dims_, memory::data_type::f32,
                        {1, dims_[0], dims_[3] * dims_[1] * dims_[0], dims_[1] * dims_[0]});
  }
  memory::desc Blocked(Tag tag) const { return memory::desc(dims_, memory::data_type::f32, tag); }

  // Keras's layout converted by oneDNN's own reorder.
  std::vector<float> Reordered(const memory::desc& layout, std::vector<float> keras) {
    std::vector<float> packed(layout.get_size() / sizeof(float), -1);
    memory from(Keras(), engine_, keras.data());
    memory to(layout, engine_, packed.data());
    dnnl::reorder(from, to).execute(stream_, from, to);
    return packed;
  }

  void ExpectSame(Tag tag) {
    const auto blocked = BlockedKernel::Create(Blocked(tag));
    ASSERT_TRUE(blocked.has_value());
    std::vector<float> keras(dims_[0] * dims_[1] * dims_[2] * dims_[3]);
    for (size_t i = 0; i < keras.size(); ++i) keras[i] = RandomUniform(1, i);
    std::vector<float> packed(Blocked(tag).get_size() / sizeof(float), -1);
    blocked->Pack(keras.data(), packed.data());
    EXPECT_EQ(packed, Reordered(Blocked(tag), keras));
    if (!blocked->can_unpack()) return;
    std::vector<float> back(keras.size());
    blocked->Unpack(packed.data(), back.data());
    EXPECT_EQ(back, keras);
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  memory::dims dims_ = {48, 32, 3, 2};
};

TEST_F(BlockedKernelTest, BlocksHoldWhatOneDnnsReorderPutsThere) {
  for (Tag tag : {Tag::Acdb16a, Tag::Acdb32a, Tag::Acdb48a, Tag::ABcd16a16b, Tag::ABcd16b16a,
                  Tag::BAcd16a16b}) {
    ExpectSame(tag);
  }
}

TEST_F(BlockedKernelTest, ABlockThatIsNotFullIsFilledWithZeros) {
  dims_ = {40, 5, 3, 3};
  for (Tag tag : {Tag::Acdb16a, Tag::Acdb32a, Tag::Acdb48a}) ExpectSame(tag);
}

TEST_F(BlockedKernelTest, OtherLayoutsAreRefused) {
  for (Tag tag : {Tag::abcd, Tag::acdb, Tag::nChw16c, Tag::ABcd8a8b}) {
    EXPECT_FALSE(BlockedKernel::Create(Blocked(tag)).has_value());
  }
  dims_ = {40, 32, 3, 3};
  EXPECT_FALSE(BlockedKernel::Create(Blocked(Tag::ABcd16a16b)).has_value());
}

}  // namespace
}  // namespace cairn::nn
