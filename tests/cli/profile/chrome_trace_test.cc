#include "cli/profile/chrome_trace.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/cli/profile/example_profile.h"

namespace cairn::cli {
namespace {

TEST(ChromeTraceTest, EverySpanIsACompleteEventOfItsTask) {
  const auto trace = nlohmann::json::parse(ChromeTrace(ExampleProfile()));
  const auto& events = trace["traceEvents"];
  // One event names each process.
  ASSERT_EQ(events.size(), 10 + 2 + 2);
  EXPECT_EQ(events[0]["ph"], "M");
  EXPECT_EQ(events[0]["args"]["name"], "worker 3");
  EXPECT_EQ(events[1]["ph"], "X");
  EXPECT_EQ(events[1]["name"], "data");
  EXPECT_EQ(events[1]["cat"], "phase");
  EXPECT_EQ(events[1]["args"]["batch"], 7);
  EXPECT_EQ(events[4]["name"], "dense");
  EXPECT_EQ(events[4]["cat"], "forward");
}

TEST(ChromeTraceTest, TimesAreMicrosecondsFromTheFirstSpanOnOneClock) {
  const auto trace = nlohmann::json::parse(ChromeTrace(ExampleProfile()));
  const auto& events = trace["traceEvents"];
  // The worker's data phase begins 5100 ns after the epoch, the second update of the ps after 6005
  // ns.
  EXPECT_DOUBLE_EQ(events[1]["ts"].get<double>(), 0);
  EXPECT_DOUBLE_EQ(events[1]["dur"].get<double>(), 0.01);
  EXPECT_DOUBLE_EQ(events[13]["ts"].get<double>(), 0.905);
  EXPECT_EQ(events[13]["pid"], 1);
  EXPECT_EQ(events[13]["tid"], 1);
  EXPECT_FALSE(events[13].contains("args"));
}

TEST(ChromeTraceTest, ANameThatIsNotThereDropsTheSpan) {
  proto::ProfileReply profile = ExampleProfile();
  profile.mutable_tasks(1)->mutable_spans(0)->set_name(99);
  EXPECT_EQ(nlohmann::json::parse(ChromeTrace(profile))["traceEvents"].size(), 13);
}

}  // namespace
}  // namespace cairn::cli
