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
  report.length = "2 epochs";
  report.ps = 1;
  report.workers = 2;
  FaultRecord fired;
  fired.fault = {FaultKind::kHangWorker, 1};
  fired.at = 2;
  fired.batch = 20;
  fired.rate_before = 10;
  fired.to_notice = 1.5;
  fired.lasted = 1.5;
  fired.to_full_speed = 0.5;
  FaultRecord planned;
  planned.fault = {FaultKind::kHangPs, 0};
  FaultRecord killed = fired;
  killed.fault = {FaultKind::kKillPs, 0};
  killed.at = 3;
  killed.lasted.reset();
  killed.goal = 6;
  report.faults = {fired, planned, killed};
  report.result.finished = true;
  report.result.seconds = 4;
  report.result.batches_done = report.result.total_batches = report.result.applied_batches = 40;
  report.result.duplicates_refused = 3;
  report.result.rollbacks = 1;
  report.throughput = {12, 9};
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
  "length": "2 epochs",
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
  "batches_per_second_without_faults": 12.0,
  "batches_per_second_under_faults": 9.0,
  "compared": "counts",
  "faults": [
    {
      "fault": "stop worker 1 past its lease",
      "fired": true,
      "at_seconds": 2.0,
      "batch": 20,
      "batches_per_second_before": 10.0,
      "to_notice_seconds": 1.5,
      "lasted_seconds": 1.5,
      "effects": 0,
      "to_full_speed_seconds": 0.5,
      "goal_seconds": null
    },
    {
      "fault": "stop ps 0 past its lease",
      "fired": false,
      "at_seconds": null,
      "batch": 0,
      "batches_per_second_before": 0.0,
      "to_notice_seconds": null,
      "lasted_seconds": null,
      "effects": 0,
      "to_full_speed_seconds": null,
      "goal_seconds": null
    },
    {
      "fault": "kill -9 ps 0",
      "fired": true,
      "at_seconds": 3.0,
      "batch": 20,
      "batches_per_second_before": 10.0,
      "to_notice_seconds": 1.5,
      "lasted_seconds": null,
      "effects": 0,
      "to_full_speed_seconds": 0.5,
      "goal_seconds": 6.0
    }
  ]
})");
}

constexpr char kPage[] = R"html(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Drill of a&lt;b: void</title>
<style>
:root { color-scheme: light dark; --page: #fff; --text: #1f2328; }
:root { --soft: #656d76; --line: #d8dee4; --tile: #f6f8fa; --curve: #0969da; --fault: #cf222e; }
:root { --good: #1a7f37; --bad: #cf222e; --unclear: #9a6700; }
@media (prefers-color-scheme: dark) { :root { --page: #0d1117; --text: #e6edf3; } }
@media (prefers-color-scheme: dark) { :root { --soft: #8d96a0; --line: #30363d; } }
@media (prefers-color-scheme: dark) { :root { --tile: #161b22; --curve: #4493f8; } }
@media (prefers-color-scheme: dark) { :root { --fault: #f85149; --good: #3fb950; } }
@media (prefers-color-scheme: dark) { :root { --bad: #f85149; --unclear: #d29922; } }
body { background: var(--page); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 1000px; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.6em; margin: 0; } h2 { font-size: 1.15em; margin: 2em 0 0.4em; }
.verdict { color: #fff; border-radius: 0.3em; padding: 0.05em 0.5em; margin-right: 0.3em; }
.passed { background: #1a7f37; } .wrong { background: #cf222e; } .void { background: #9a6700; }
.soft { color: var(--soft); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9em, 1fr)); gap: 0.6em; }
.tiles div { background: var(--tile); border: 1px solid var(--line); border-radius: 0.4em; }
.tiles div { padding: 0.5em 0.8em; }
.tiles b { display: block; font-size: 1.35em; font-weight: 600; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { color: var(--soft); font-weight: 600; }
td, th { padding: 0.3em 0.6em; border-bottom: 1px solid var(--line); text-align: right; }
td:nth-child(2), th:nth-child(2) { text-align: left; }
svg { width: 100%; height: auto; font: 11px system-ui, sans-serif; }
svg text { fill: var(--soft); }
.curve { fill: none; stroke: var(--curve); stroke-width: 1.5; stroke-linejoin: round; }
.axis { stroke: var(--line); }
.fault { stroke: var(--fault); stroke-dasharray: 2 3; } .band { fill: var(--fault); opacity: 0.12; }
svg .number { fill: var(--fault); font-weight: 600; }
.good { color: var(--good); } .bad { color: var(--bad); } .unclear { color: var(--unclear); }
</style>
</head>
<body>
<h1><span class="verdict void">void</span> Drill of a&lt;b</h1>
<p class="soft">Plan hangs, seed 7, 1 ps, 2 workers, 2 epochs</p>
<ul>
<li>fault 2 (stop ps 0 past its lease) did not fire: the job ended before it; give the job more epochs, or the drill a smaller --faults</li>
<li>each of 40 batches is counted once</li>
<li>only the counts are compared: the bits of a job that is not synchronous depend on the order of updates</li>
</ul>
<div class="tiles">
<div><b>2</b>faults</div>
<div><b>40</b>of 40 batches applied</div>
<div><b>3</b>duplicates refused</div>
<div><b>1</b>rollback</div>
<div><b>4.0 s</b>of training</div>
<div><b>75 %</b>throughput under faults, 9 of 12 batches/s</div>
</div>
<h2>Loss</h2>
<svg viewBox="0 0 1000 260" role="img" aria-label="Loss">
<line class="axis" x1="70" x2="980" y1="235.0" y2="235.0"/>
<text x="64" y="239.0" text-anchor="end">0.4</text>
<line class="axis" x1="70" x2="980" y1="199.5" y2="199.5"/>
<text x="64" y="203.5" text-anchor="end">0.6</text>
<line class="axis" x1="70" x2="980" y1="164.0" y2="164.0"/>
<text x="64" y="168.0" text-anchor="end">0.8</text>
<line class="axis" x1="70" x2="980" y1="128.5" y2="128.5"/>
<text x="64" y="132.5" text-anchor="end">1</text>
<line class="axis" x1="70" x2="980" y1="93.0" y2="93.0"/>
<text x="64" y="97.0" text-anchor="end">1.2</text>
<line class="axis" x1="70" x2="980" y1="57.5" y2="57.5"/>
<text x="64" y="61.5" text-anchor="end">1.4</text>
<line class="axis" x1="70" x2="980" y1="22.0" y2="22.0"/>
<text x="64" y="26.0" text-anchor="end">1.6</text>
<text x="70.0" y="254" text-anchor="middle">0 s</text>
<text x="183.8" y="254" text-anchor="middle">0.5 s</text>
<text x="297.5" y="254" text-anchor="middle">1 s</text>
<text x="411.2" y="254" text-anchor="middle">1.5 s</text>
<text x="525.0" y="254" text-anchor="middle">2 s</text>
<text x="638.8" y="254" text-anchor="middle">2.5 s</text>
<text x="752.5" y="254" text-anchor="middle">3 s</text>
<text x="866.2" y="254" text-anchor="middle">3.5 s</text>
<text x="980.0" y="254" text-anchor="middle">4 s</text>
<g><title>1: stop worker 1 past its lease</title>
<rect class="band" x="525.0" width="341.2" y="22" height="213"/>
<line class="fault" x1="525.0" x2="525.0" y1="22" y2="235"/>
<text class="number" x="525.0" y="16" text-anchor="middle">1</text>
</g>
<g><title>3: kill -9 ps 0</title>
<line class="fault" x1="752.5" x2="752.5" y1="22" y2="235"/>
<text class="number" x="752.5" y="16" text-anchor="middle">3</text>
</g>
<polyline class="curve" points="525.0,39.8 980.0,217.2"/>
</svg>
<h2>Batches done</h2>
<svg viewBox="0 0 1000 260" role="img" aria-label="Batches done">
<line class="axis" x1="70" x2="980" y1="235.0" y2="235.0"/>
<text x="64" y="239.0" text-anchor="end">0</text>
<line class="axis" x1="70" x2="980" y1="181.8" y2="181.8"/>
<text x="64" y="185.8" text-anchor="end">10</text>
<line class="axis" x1="70" x2="980" y1="128.5" y2="128.5"/>
<text x="64" y="132.5" text-anchor="end">20</text>
<line class="axis" x1="70" x2="980" y1="75.2" y2="75.2"/>
<text x="64" y="79.2" text-anchor="end">30</text>
<line class="axis" x1="70" x2="980" y1="22.0" y2="22.0"/>
<text x="64" y="26.0" text-anchor="end">40</text>
<text x="70.0" y="254" text-anchor="middle">0 s</text>
<text x="183.8" y="254" text-anchor="middle">0.5 s</text>
<text x="297.5" y="254" text-anchor="middle">1 s</text>
<text x="411.2" y="254" text-anchor="middle">1.5 s</text>
<text x="525.0" y="254" text-anchor="middle">2 s</text>
<text x="638.8" y="254" text-anchor="middle">2.5 s</text>
<text x="752.5" y="254" text-anchor="middle">3 s</text>
<text x="866.2" y="254" text-anchor="middle">3.5 s</text>
<text x="980.0" y="254" text-anchor="middle">4 s</text>
<g><title>1: stop worker 1 past its lease</title>
<rect class="band" x="525.0" width="341.2" y="22" height="213"/>
<line class="fault" x1="525.0" x2="525.0" y1="22" y2="235"/>
<text class="number" x="525.0" y="16" text-anchor="middle">1</text>
</g>
<g><title>3: kill -9 ps 0</title>
<line class="fault" x1="752.5" x2="752.5" y1="22" y2="235"/>
<text class="number" x="752.5" y="16" text-anchor="middle">3</text>
</g>
<polyline class="curve" points="70.0,235.0 525.0,128.5 980.0,22.0"/>
</svg>
<h2>Faults</h2>
<div class="scroll"><table>
<tr><th></th><th>Fault</th><th>At</th><th>Batch</th><th>Batches/s before</th><th>Noticed after</th><th>Lasted</th><th>Full speed after</th></tr>
<tr><td>1</td><td>stop worker 1 past its lease</td><td>2.0 s</td><td>20</td><td>10</td><td>1.5 s</td><td>1.5 s</td><td>0.5 s</td></tr>
<tr><td>2</td><td>stop ps 0 past its lease</td><td>did not fire</td><td>-</td><td>-</td><td>-</td><td>-</td><td>-</td></tr>
<tr><td>3</td><td>kill -9 ps 0</td><td>3.0 s</td><td>20</td><td>10</td><td>1.5 s</td><td>-</td><td><span class="good">0.5 s</span> of 6 s</td></tr>
</table></div>
<p class="soft">Full speed: all tasks are live, and the rate is at least 80 % of the one before the fault. The time counts from the fault, or from its end if it lasts. A fault without a time in "Noticed after" need not be noticed: it only must not stop the job.</p>
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
  EXPECT_THAT(page, HasSubstr("points=\"70.0,235.0 980.0,235.0\""));
  EXPECT_THAT(page, Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace cairn::cli
