#include "cli/drill/drill_report.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A drill with one fault that fired and one that did not.
DrillReport Example() {
  DrillReport report;
  report.job = "a<b";
  report.plan = "hangs";
  report.seed = 7;
  report.ps = 1;
  report.workers = 2;
  FaultRecord fired;
  fired.fault = {FaultKind::kHangWorker, 1};
  fired.at = 2;
  fired.batch = 20;
  fired.rate_before = 10;
  fired.to_notice = 1.5;
  fired.stopped = 1.5;
  fired.to_full_speed = 0.5;
  FaultRecord planned;
  planned.fault = {FaultKind::kHangPs, 0};
  report.faults = {fired, planned};
  report.result.finished = true;
  report.result.seconds = 4;
  report.result.batches_done = report.result.total_batches = report.result.applied_batches = 40;
  report.result.duplicates_refused = 3;
  report.result.rollbacks = 1;
  report.progress = {{0, 0}, {2, 20}, {4, 40}};
  report.loss = {{2, 1.5}, {4, 0.5}};
  report.judgement = Judge(report.faults, report.result, report.comparison);
  return report;
}

TEST(LossOverTimeTest, IsTheMeanOfTheBatchesThatBecameDone) {
  const std::vector<double> losses = {8, 4, 2, 0};
  const auto curve = LossOverTime({{0, 0}, {1, 2}, {2, 4}}, 0, losses, 2);
  ASSERT_EQ(curve.size(), 2);
  EXPECT_EQ(curve[0].seconds, 1);
  EXPECT_EQ(curve[0].loss, 6);
  EXPECT_EQ(curve[1].loss, 1);
}

TEST(LossOverTimeTest, ShowsBatchesAgainAfterARollbackAndNoneWithoutAFiniteLoss) {
  const std::vector<double> losses = {8, 4, std::nan("")};
  const auto curve = LossOverTime({{0, 0}, {1, 2}, {2, 1}, {3, 2}, {4, 3}}, 0, losses, 4);
  ASSERT_EQ(curve.size(), 2);
  EXPECT_EQ(curve[0].loss, 6);
  EXPECT_EQ(curve[1].seconds, 3);
  EXPECT_EQ(curve[1].loss, 4);
}

TEST(LossOverTimeTest, BeginsWhereTheHistoryBegins) {
  const auto curve = LossOverTime({{0, 0}, {1, 10}}, 8, {3, 5}, 1);
  ASSERT_EQ(curve.size(), 1);
  EXPECT_EQ(curve[0].loss, 4);
  EXPECT_TRUE(LossOverTime({}, 0, {}, 1).empty());
}

TEST(DrillReportTest, JsonHasTheVerdictTheCountsAndEachFault) {
  EXPECT_EQ(ReportJson(Example()).dump(2), R"({
  "verdict": "void",
  "findings": [
    "fault 2 (stop ps 0 past its lease) did not fire: the job ended before it; give the job more epochs, or the drill a smaller --faults",
    "each of 40 batches is counted once",
    "only the counts are compared: the bits of a job that is not synchronous depend on the order of updates"
  ],
  "job": "a<b",
  "plan": "hangs",
  "seed": 7,
  "ps": 1,
  "workers": 2,
  "result": {
    "finished": true,
    "seconds": 4.0,
    "batches_done": 40,
    "total_batches": 40,
    "applied_batches": 40,
    "lost_reports": 0,
    "duplicates_refused": 3,
    "rollbacks": 1
  },
  "twin": null,
  "compared": "counts",
  "faults": [
    {
      "fault": "stop worker 1 past its lease",
      "fired": true,
      "at_seconds": 2.0,
      "batch": 20,
      "batches_per_second_before": 10.0,
      "to_notice_seconds": 1.5,
      "stopped_seconds": 1.5,
      "to_full_speed_seconds": 0.5
    },
    {
      "fault": "stop ps 0 past its lease",
      "fired": false,
      "at_seconds": null,
      "batch": 0,
      "batches_per_second_before": 0.0,
      "to_notice_seconds": null,
      "stopped_seconds": null,
      "to_full_speed_seconds": null
    }
  ]
})");
}

constexpr char kPage[] = R"html(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Drill of a&lt;b: void</title>
<style>
body { font: 15px/1.5 sans-serif; max-width: 960px; margin: 2em auto; }
table { border-collapse: collapse; }
td, th { padding: 0.2em 0.8em; border-bottom: 1px solid #ddd; text-align: right; }
td:nth-child(2), th:nth-child(2) { text-align: left; }
svg { width: 100%; font: 11px sans-serif; }
.curve { fill: none; stroke: #1f6fb2; stroke-width: 1.5; }
.axis { stroke: #ddd; }
.fault { stroke: #c0392b; stroke-dasharray: 3 3; }
.number { fill: #c0392b; }
.passed { color: #1e8449; } .wrong { color: #c0392b; } .void { color: #b9770e; }
</style>
</head>
<body>
<h1>Drill of a&lt;b: <span class="void">void</span></h1>
<p>Plan hangs, seed 7, 1 ps, 2 workers. 40 of 40 batches in 4.0 s, 3 duplicates refused, 1 rollback.</p>
<ul>
<li>fault 2 (stop ps 0 past its lease) did not fire: the job ended before it; give the job more epochs, or the drill a smaller --faults</li>
<li>each of 40 batches is counted once</li>
<li>only the counts are compared: the bits of a job that is not synchronous depend on the order of updates</li>
</ul>
<h2>Loss</h2>
<svg viewBox="0 0 900 240">
<line class="axis" x1="70" x2="880" y1="215.0" y2="215.0"/>
<text x="64" y="219.0" text-anchor="end">0.5</text>
<text x="70.0" y="234" text-anchor="middle">0 s</text>
<line class="axis" x1="70" x2="880" y1="176.0" y2="176.0"/>
<text x="64" y="180.0" text-anchor="end">0.7</text>
<text x="232.0" y="234" text-anchor="middle">0.8 s</text>
<line class="axis" x1="70" x2="880" y1="137.0" y2="137.0"/>
<text x="64" y="141.0" text-anchor="end">0.9</text>
<text x="394.0" y="234" text-anchor="middle">1.6 s</text>
<line class="axis" x1="70" x2="880" y1="98.0" y2="98.0"/>
<text x="64" y="102.0" text-anchor="end">1.1</text>
<text x="556.0" y="234" text-anchor="middle">2.4 s</text>
<line class="axis" x1="70" x2="880" y1="59.0" y2="59.0"/>
<text x="64" y="63.0" text-anchor="end">1.3</text>
<text x="718.0" y="234" text-anchor="middle">3.2 s</text>
<line class="axis" x1="70" x2="880" y1="20.0" y2="20.0"/>
<text x="64" y="24.0" text-anchor="end">1.5</text>
<text x="880.0" y="234" text-anchor="middle">4 s</text>
<line class="fault" x1="475.0" x2="475.0" y1="20" y2="215"><title>stop worker 1 past its lease</title></line>
<text class="number" x="475.0" y="14" text-anchor="middle">1</text>
<polyline class="curve" points="475.0,20.0 880.0,215.0"/>
</svg>
<h2>Batches done</h2>
<svg viewBox="0 0 900 240">
<line class="axis" x1="70" x2="880" y1="215.0" y2="215.0"/>
<text x="64" y="219.0" text-anchor="end">0</text>
<text x="70.0" y="234" text-anchor="middle">0 s</text>
<line class="axis" x1="70" x2="880" y1="176.0" y2="176.0"/>
<text x="64" y="180.0" text-anchor="end">8</text>
<text x="232.0" y="234" text-anchor="middle">0.8 s</text>
<line class="axis" x1="70" x2="880" y1="137.0" y2="137.0"/>
<text x="64" y="141.0" text-anchor="end">16</text>
<text x="394.0" y="234" text-anchor="middle">1.6 s</text>
<line class="axis" x1="70" x2="880" y1="98.0" y2="98.0"/>
<text x="64" y="102.0" text-anchor="end">24</text>
<text x="556.0" y="234" text-anchor="middle">2.4 s</text>
<line class="axis" x1="70" x2="880" y1="59.0" y2="59.0"/>
<text x="64" y="63.0" text-anchor="end">32</text>
<text x="718.0" y="234" text-anchor="middle">3.2 s</text>
<line class="axis" x1="70" x2="880" y1="20.0" y2="20.0"/>
<text x="64" y="24.0" text-anchor="end">40</text>
<text x="880.0" y="234" text-anchor="middle">4 s</text>
<line class="fault" x1="475.0" x2="475.0" y1="20" y2="215"><title>stop worker 1 past its lease</title></line>
<text class="number" x="475.0" y="14" text-anchor="middle">1</text>
<polyline class="curve" points="70.0,215.0 475.0,117.5 880.0,20.0"/>
</svg>
<h2>Faults</h2>
<table>
<tr><th></th><th>fault</th><th>at</th><th>batch</th><th>batches/s before</th><th>noticed after</th><th>stopped for</th><th>full speed after</th></tr>
<tr><td>1</td><td>stop worker 1 past its lease</td><td>2.0 s</td><td>20</td><td>10</td><td>1.5 s</td><td>1.5 s</td><td>0.5 s</td></tr>
<tr><td>2</td><td>stop ps 0 past its lease</td><td>did not fire</td><td>-</td><td>-</td><td>-</td><td>-</td><td>-</td></tr>
</table>
<p>Full speed: all tasks are live, and the rate is at least 80 % of the one before the fault. After a hang its time counts from the end of the hang.</p>
</body>
</html>
)html";

TEST(DrillReportTest, PageIsThisOne) { EXPECT_EQ(ReportHtml(Example()), kPage); }

TEST(DrillReportTest, PageLoadsNothing) {
  const std::string page = ReportHtml(Example());
  for (const char* word : {"http", "src=", "href=", "<script", "@import"}) {
    EXPECT_THAT(page, Not(HasSubstr(word)));
  }
}

TEST(DrillReportTest, PageOfADrillWithoutAnyProgressIsWhole) {
  DrillReport report;
  report.job = "early";
  const std::string page = ReportHtml(report);
  EXPECT_THAT(page, HasSubstr("</html>"));
  EXPECT_THAT(page, Not(HasSubstr("nan")));
}

TEST(DrillReportTest, ALargeLossThatDoesNotChangeIsDrawn) {
  DrillReport report;
  report.loss = {{0, 1e30}, {1, 1e30}};
  report.result.seconds = 1;
  const std::string page = ReportHtml(report);
  EXPECT_THAT(page, HasSubstr("points=\"70.0,215.0 880.0,215.0\""));
  EXPECT_THAT(page, Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace cairn::cli
