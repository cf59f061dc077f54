#include "parameters/initial_values.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "nn/initializer.h"
#include "tests/parameters/test_job.h"

namespace cairn::parameters {
namespace {

// A job with an orthogonal hidden/kernel, whose initializer must compute the whole variable.
std::shared_ptr<const JobLayout> LayoutOf(const TestJobOptions& options) {
  const auto plain = MakeLayout(options);
  std::vector<nn::VariableSpec> variables = plain->variables();
  variables[0].initializer.kind = nn::InitializerSpec::Kind::kOrthogonal;
  variables[0].initializer.value = 1;
  return *JobLayout::Create(plain->plan(), variables, options.ps);
}

TEST(InitialValues, AreIndependentOfThePartition) {
  for (const int ps_count : {1, 2, 4}) {
    TestJobOptions options;
    options.ps_count = ps_count;
    for (int ps = 0; ps < ps_count; ++ps) {
      options.ps = static_cast<uint32_t>(ps);
      const auto layout = LayoutOf(options);
      BufferPool pool;
      const auto states = MakeInitialStates(*layout, nullptr, &pool);
      ASSERT_TRUE(states.ok()) << states.status();
      for (size_t position = 0; position < states->size(); ++position) {
        const BlockSpec& block = layout->blocks()[position];
        const nn::VariableSpec& variable = layout->variables()[block.variable];
        std::vector<float> whole(variable.element_count());
        nn::FillInitialValues(variable, 11, 0, variable.element_count(), whole.data());
        const std::vector<float> expected(whole.begin() + block.begin,
                                          whole.begin() + block.begin + block.count);
        EXPECT_EQ(Values((*states)[position].values), expected) << block.name;
      }
    }
  }
}

TEST(InitialValues, SlotsHaveTheOptimizersInitialValues) {
  TestJobOptions options;
  options.optimizer = "adagrad";
  const auto layout = MakeLayout(options);
  BufferPool pool;
  const auto states = MakeInitialStates(*layout, nullptr, &pool);
  const BlockState& hidden = (*states)[PositionOf(*layout, "hidden/kernel")];
  EXPECT_EQ(Values(hidden.slots), std::vector<float>(24, 0.1f));
  EXPECT_EQ(hidden.version, 0);
  EXPECT_EQ(hidden.ledger.low_water(), 0);
  EXPECT_FALSE((*states)[PositionOf(*layout, "norm/moving_mean")].slots);
  EXPECT_FALSE((*states)[PositionOf(*layout, "frozen/kernel")].slots);
}

}  // namespace
}  // namespace cairn::parameters
