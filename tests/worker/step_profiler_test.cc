#include "worker/step_profiler.h"

#include "gtest/gtest.h"
#include "tests/worker/counting_plan.h"

namespace cairn::worker {
namespace {

proto::Profile Steps(int64_t steps) {
  proto::Profile command;
  command.set_profile(9);
  command.set_steps(steps);
  return command;
}

TEST(StepProfilerTest, SpansGoUnderTheNamesOfPhasesAndLayers) {
  const auto model = nn::Model::Create(CountingPlan({}).model());
  ASSERT_TRUE(model.ok());
  StepProfiler profiler(Steps(1), model->get());
  SpanRecorder* recorder = profiler.recorder();
  const auto layers = static_cast<uint32_t>((*model)->nodes().size());
  recorder->set_batch(4);
  recorder->Add(kPullPhase, 10, 15);
  recorder->Add(StepProfiler::kFirstLayerName + layers - 1, 20, 30);
  recorder->Add(StepProfiler::kFirstLayerName + 2 * layers - 1, 30, 45);
  recorder->Add(StepProfiler::kFirstLayerName + 2 * layers, 45, 46);
  EXPECT_FALSE(profiler.complete());
  profiler.StepDone();
  EXPECT_TRUE(profiler.complete());
  const proto::ProfileReport report = profiler.Report();
  EXPECT_EQ(report.profile(), 9);
  EXPECT_EQ(report.steps(), 1);
  ASSERT_EQ(report.spans_size(), 4);
  const auto name = [&report](int span) {
    return report.names(static_cast<int>(report.spans(span).name()));
  };
  const std::string last = (*model)->nodes().back().layer->name();
  EXPECT_EQ(name(0).name(), "pull");
  EXPECT_EQ(name(0).kind(), "phase");
  EXPECT_EQ(name(1).name(), last);
  EXPECT_EQ(name(1).kind(), "forward");
  EXPECT_EQ(name(2).name(), last);
  EXPECT_EQ(name(2).kind(), "backward");
  EXPECT_EQ(name(3).name(), "loss");
  EXPECT_EQ(report.spans(2).begin_nanoseconds(), 30);
  EXPECT_EQ(report.spans(2).nanoseconds(), 15);
  EXPECT_EQ(report.spans(2).batch(), 4);
}

TEST(StepProfilerTest, WhatIsTooMuchIsDroppedAndCounted) {
  const auto model = nn::Model::Create(CountingPlan({}).model());
  ASSERT_TRUE(model.ok());
  StepProfiler profiler(Steps(1 << 30), model->get());
  for (int64_t i = 0; i < 70000; ++i) profiler.recorder()->Add(kDataPhase, i, i + 1);
  EXPECT_EQ(profiler.Report().spans_size(), 65536);
  EXPECT_EQ(profiler.Report().dropped(), 70000 - 65536);
}

TEST(StepProfilerTest, LoadsAreAdded) {
  const auto model = nn::Model::Create(CountingPlan({}).model());
  ASSERT_TRUE(model.ok());
  StepProfiler profiler(Steps(2), model->get());
  profiler.AddLoad({.reading = 5, .decoding = 7});
  profiler.AddLoad({.reading = 100, .decoding = 0});
  const proto::ProfileReport report = profiler.Report();
  EXPECT_EQ(report.loaded_batches(), 2);
  EXPECT_EQ(report.reading_nanoseconds(), 105);
  EXPECT_EQ(report.decoding_nanoseconds(), 7);
}

}  // namespace
}  // namespace cairn::worker
