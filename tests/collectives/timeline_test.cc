#include "collectives/timeline.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "nlohmann/json.hpp"

namespace cairn::collectives {
namespace {

TEST(TimelineTest, IsAChromeTraceOfTheActivities) {
  Timeline timeline(/*rank=*/3);
  {
    const Timeline::Span outer(&timeline, "DIRECT_ALLREDUCE", "gradient");
    const Timeline::Span inner(&timeline, "BARRIER", "\"quoted\"");
  }
  const std::string file = ::testing::TempDir() + "/timeline.json";
  timeline.Write(file);
  std::ifstream in(file);
  const nlohmann::json events = nlohmann::json::parse(in).at("traceEvents");
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0]["name"], "BARRIER") << "in the order of their ends";
  EXPECT_EQ(events[0]["args"]["tensor"], "\"quoted\"");
  EXPECT_EQ(events[1]["name"], "DIRECT_ALLREDUCE");
  EXPECT_EQ(events[1]["pid"], 3);
  EXPECT_EQ(events[1]["ph"], "X");
  EXPECT_LE(events[1]["ts"].get<int64_t>(), events[0]["ts"].get<int64_t>());
  EXPECT_GE(events[1]["dur"].get<int64_t>(), events[0]["dur"].get<int64_t>());
}

}  // namespace
}  // namespace cairn::collectives
