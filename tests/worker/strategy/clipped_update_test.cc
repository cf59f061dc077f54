#include "worker/strategy/clipped_update.h"

#include <cmath>
#include <map>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "tests/parameters/test_job.h"

namespace cairn::worker {
namespace {

// A kernel of 4 x 6, a bias and a BatchNormalization layer, on two ps.
class ClippedUpdateTest : public ::testing::Test {
 protected:
  ClippedUpdateTest()
      : plan_(parameters::MakePlan({.ps_count = 2})),
        model_(nn::Model::Create(plan_.model()).value()),
        table_(BlockTable::Create(plan_.partition(), *model_).value()) {}

  ClippedUpdate Update(bool global) {
    proto::Optimizer config;
    global ? config.set_global_clipnorm(1) : config.set_clipnorm(1);
    return ClippedUpdate(nn::GradientClip::Create(config).value(), model_.get(), &table_);
  }

  const nn::VariableSpec& VariableOf(uint32_t block) const {
    return model_->variables()[table_.block(block).variable];
  }

  // The reply of a ps if every value of a gradient is 2 and moving statistics have no gradient.
  proto::PushReplyHeader ReplyTo(const std::vector<uint32_t>& blocks) const {
    proto::PushReplyHeader reply;
    for (const uint32_t block : blocks) {
      nn::SquareSum sum;
      if (VariableOf(block).update == nn::VariableSpec::Update::kOptimized) {
        sum.Add(std::vector<float>(table_.block(block).elements, 2));
      }
      reply.add_sums()->mutable_words()->Assign(sum.words().begin(), sum.words().end());
    }
    return reply;
  }

  // The scales by block, after all replies were added.
  std::map<uint32_t, float> ScalesOf(ClippedUpdate update) {
    for (const BlockTable::Request& request : table_.pushed()) {
      EXPECT_TRUE(update.Add(request.blocks, ReplyTo(request.blocks)).ok());
    }
    EXPECT_FALSE(update.applied());
    std::map<uint32_t, float> scales;
    const std::vector<proto::UpdateScales> by_ps = update.Scales();
    EXPECT_EQ(by_ps.size(), 2u);
    for (size_t ps = 0; ps < by_ps.size(); ++ps) {
      EXPECT_GT(by_ps[ps].blocks_size(), 0);
      for (int i = 0; i < by_ps[ps].blocks_size(); ++i) {
        EXPECT_EQ(table_.block(by_ps[ps].blocks(i)).ps, static_cast<int>(ps));
        EXPECT_TRUE(scales.emplace(by_ps[ps].blocks(i), by_ps[ps].scales(i)).second);
      }
    }
    return scales;
  }

  proto::JobPlan plan_;
  std::unique_ptr<nn::Model> model_;
  BlockTable table_;
};

TEST_F(ClippedUpdateTest, AVariablesNormIsThatOfAllItsBlocks) {
  const std::map<uint32_t, float> scales = ScalesOf(Update(false));
  int gradients = 0;
  for (const auto& [block, scale] : scales) {
    const nn::VariableSpec& variable = VariableOf(block);
    ASSERT_NE(variable.update, nn::VariableSpec::Update::kFrozen) << variable.name;
    const bool is_gradient = variable.update == nn::VariableSpec::Update::kOptimized;
    const double count = static_cast<double>(nn::ElementCount(variable.shape));
    EXPECT_FLOAT_EQ(scale, is_gradient ? 1 / std::sqrt(4 * count) : 1) << variable.name;
    gradients += is_gradient;
  }
  EXPECT_GT(gradients, 4) << "the kernel has several blocks";
}

TEST_F(ClippedUpdateTest, TheGlobalNormIsThatOfAllGradients) {
  double count = 0;
  for (const nn::VariableSpec& variable : model_->variables()) {
    if (variable.update != nn::VariableSpec::Update::kOptimized) continue;
    count += static_cast<double>(nn::ElementCount(variable.shape));
  }
  for (const auto& [block, scale] : ScalesOf(Update(true))) {
    const bool is_gradient = VariableOf(block).update == nn::VariableSpec::Update::kOptimized;
    EXPECT_FLOAT_EQ(scale, is_gradient ? 1 / std::sqrt(4 * count) : 1);
  }
}

TEST_F(ClippedUpdateTest, WhatIsInEverywhereNeedsNoScales) {
  ClippedUpdate update = Update(true);
  const std::vector<uint32_t>& blocks = table_.pushed().front().blocks;
  proto::PushReplyHeader reply;
  reply.set_update_applied(true);
  EXPECT_TRUE(update.Add(blocks, reply).ok());
  EXPECT_TRUE(update.Add(blocks, ReplyTo(blocks)).ok());
  EXPECT_TRUE(update.applied());
}

TEST_F(ClippedUpdateTest, ARepliesSumsMustBeThoseOfItsBlocks) {
  ClippedUpdate update = Update(true);
  const std::vector<uint32_t>& blocks = table_.pushed().front().blocks;
  proto::PushReplyHeader reply = ReplyTo(blocks);
  reply.add_sums();
  EXPECT_EQ(update.Add(blocks, reply).code(), absl::StatusCode::kInternal);
  reply = ReplyTo(blocks);
  reply.mutable_sums(0)->mutable_words()->Resize(100, 1);
  EXPECT_EQ(update.Add(blocks, reply).code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace cairn::worker
