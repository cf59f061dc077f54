#include "nn/cpu/packed_tensor.h"

#include <numeric>
#include <vector>

#include "gtest/gtest.h"

namespace cairn::nn {
namespace {

using dnnl::memory;

memory::desc Image(memory::format_tag tag) {
  return memory::desc({2, 32, 3, 5}, memory::data_type::f32, tag);
}

TEST(PackedTensorTest, TheModelsLayoutNeedsNoCopy) {
  const DnnlContext context;
  const auto layout = Image(memory::format_tag::nhwc);
  PackedTensor tensor(layout, layout, &context);
  EXPECT_EQ(tensor.scratch(), 0);
  float values[2 * 32 * 3 * 5];
  EXPECT_EQ(tensor.Load(values, nullptr).get_data_handle(), values);
  EXPECT_EQ(tensor.Target(values, nullptr).get_data_handle(), values);
  tensor.Store();
}

TEST(PackedTensorTest, AnotherLayoutComesBackAsItWas) {
  const DnnlContext context;
  PackedTensor tensor(Image(memory::format_tag::nChw16c), Image(memory::format_tag::nhwc),
                      &context);
  std::vector<float> plain(2 * 32 * 3 * 5);
  std::iota(plain.begin(), plain.end(), 0.0f);
  ASSERT_GE(tensor.scratch(), static_cast<int64_t>(plain.size()));
  std::vector<float> lent(tensor.scratch());
  tensor.Load(plain.data(), lent.data());
  // Pixel 1 of the first 16 channels comes after pixel 0 of them.
  EXPECT_EQ(lent[16], plain[32]);
  std::vector<float> back(plain.size());
  tensor.Target(back.data(), lent.data());
  tensor.Store();
  EXPECT_EQ(back, plain);
}

}  // namespace
}  // namespace cairn::nn
