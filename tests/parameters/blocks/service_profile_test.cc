#include "parameters/blocks/service_profile.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

namespace cairn::parameters {
namespace {

using Span = ServiceProfile::Span;

TEST(ServiceProfileTest, RecordsOnlyWhileItIsOn) {
  ServiceProfile profile;
  { const Span span(&profile, ServiceProfile::kApply, 1); }
  profile.Start(7);
  { const Span span(&profile, ServiceProfile::kApply, 2); }
  {
    Span span(&profile, ServiceProfile::kReceive, -1);
    span.set_batch(3);
  }
  const proto::ProfileReport report = profile.Stop(7);
  { const Span span(&profile, ServiceProfile::kReply, 4); }
  ASSERT_EQ(report.spans_size(), 2);
  EXPECT_EQ(report.names(report.spans(0).name()).name(), "apply");
  EXPECT_EQ(report.spans(0).batch(), 2);
  EXPECT_EQ(report.names(report.spans(1).name()).name(), "receive");
  EXPECT_EQ(report.spans(1).batch(), 3);
  EXPECT_GE(report.spans(1).begin_nanoseconds(), report.spans(0).begin_nanoseconds());
  EXPECT_EQ(profile.Stop(7).spans_size(), 0);
}

TEST(ServiceProfileTest, ANewProfileReplacesTheOldOne) {
  ServiceProfile profile;
  profile.Start(1);
  { const Span span(&profile, ServiceProfile::kApply, 0); }
  profile.Start(2);
  EXPECT_EQ(profile.Stop(1).profile(), 1);
  EXPECT_TRUE(profile.on());
  EXPECT_EQ(profile.Stop(2).spans_size(), 0);
  EXPECT_FALSE(profile.on());
}

TEST(ServiceProfileTest, ThreadsAreNumbered) {
  ServiceProfile profile;
  profile.Start(1);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&profile] {
      for (int64_t batch = 0; batch < 100; ++batch) {
        const Span span(&profile, ServiceProfile::kApply, batch);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const proto::ProfileReport report = profile.Stop(1);
  ASSERT_EQ(report.spans_size(), 400);
  std::set<uint32_t> numbers;
  for (const auto& span : report.spans()) numbers.insert(span.thread());
  EXPECT_EQ(numbers, (std::set<uint32_t>{0, 1, 2, 3}));
}

TEST(ServiceProfileTest, ASpanWithoutAProfileDoesNothing) {
  const Span span(nullptr, ServiceProfile::kApply, 0);
}

}  // namespace
}  // namespace cairn::parameters
