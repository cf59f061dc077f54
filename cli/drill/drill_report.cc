#include "cli/drill/drill_report.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "common/plural.h"

namespace cairn::cli {
namespace {

using nlohmann::ordered_json;

double Rounded(double number) { return std::round(number * 1000) / 1000; }

ordered_json OrNull(const std::optional<double>& seconds) {
  return seconds ? ordered_json(Rounded(*seconds)) : ordered_json();
}

ordered_json ResultJson(const TrainingResult& result) {
  ordered_json out;
  out["finished"] = result.finished;
  if (!result.finished) out["error"] = result.error;
  out["seconds"] = Rounded(result.seconds);
  out["batches_done"] = result.batches_done;
  out["total_batches"] = result.total_batches;
  out["applied_batches"] = result.applied_batches;
  out["lost_reports"] = result.lost_reports;
  out["duplicates_refused"] = result.duplicates_refused;
  out["rollbacks"] = result.rollbacks;
  return out;
}

// ---- the page

constexpr size_t kPointsMax = 1000;  // Of a curve.
constexpr int kNumbersMax = 40;      // Of faults above a curve.

constexpr char kStyle[] = R"(:root { color-scheme: light dark; --page: #fff; --text: #1f2328; }
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
)";

std::string Escape(const std::string& text) {
  return absl::StrReplaceAll(text,
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string SecondsText(const std::optional<double>& seconds) {
  return seconds ? absl::StrFormat("%.1f s", *seconds) : "-";
}

using Points = std::vector<std::pair<double, double>>;

// The distance of about `count` round marks over a range: 1, 2 or 5 times a power of ten.
double MarkDistance(double range, int count) {
  const double least = range / count;
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1, 2, 5}) {
    if (factor * power >= least) return factor * power;
  }
  return 10 * power;
}

// A drawing of one curve over the seconds of the drill, with a line for each fault, and a band for
// each that lasted.
class Chart {
 public:
  Chart(const Points& points, double seconds) : points_(points), seconds_(std::max(seconds, 1e-3)) {
    if (points.empty()) return;
    const auto by_value = [](const auto& a, const auto& b) { return a.second < b.second; };
    const auto [least, most] = std::minmax_element(points.begin(), points.end(), by_value);
    low_ = least->second;
    high_ = most->second > low_ ? most->second : low_ + std::max(1.0, std::abs(low_));
    // Begin and end at a mark.
    up_ = MarkDistance(high_ - low_, kMarksUp);
    low_ = std::floor(low_ / up_) * up_;
    high_ = std::ceil(high_ / up_) * up_;
  }

  std::string Svg(const std::string& title, const std::vector<FaultRecord>& faults) const {
    std::string svg =
        absl::StrFormat("<h2>%s</h2>\n<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n",
                        title, kWidth, kHeight, title);
    AddMarks(&svg);
    // Above a curve with many faults only some numbers have room.
    const size_t stride = faults.size() / kNumbersMax + 1;
    for (size_t i = 0; i < faults.size(); ++i) {
      if (faults[i].at) AddFault(static_cast<int>(i) + 1, i % stride == 0, faults[i], &svg);
    }
    absl::StrAppend(&svg, "<polyline class=\"curve\" points=\"");
    for (size_t i = 0; i < points_.size(); ++i) {
      absl::StrAppendFormat(&svg, "%s%.1f,%.1f", i == 0 ? "" : " ", X(points_[i].first),
                            Y(points_[i].second));
    }
    absl::StrAppend(&svg, "\"/>\n</svg>\n");
    return svg;
  }

 private:
  static constexpr int kWidth = 1000;
  static constexpr int kHeight = 260;
  static constexpr int kLeft = 70;
  static constexpr int kRight = 20;
  static constexpr int kTop = 22;
  static constexpr int kBottom = 25;
  static constexpr int kMarksAcross = 10;
  static constexpr int kMarksUp = 5;

  double X(double seconds) const { return kLeft + (kWidth - kLeft - kRight) * seconds / seconds_; }
  double Y(double value) const {
    return kHeight - kBottom - (kHeight - kTop - kBottom) * (value - low_) / (high_ - low_);
  }

  void AddMarks(std::string* svg) const {
    const int marks = static_cast<int>(std::lround((high_ - low_) / up_));
    for (int i = 0; i <= marks; ++i) {
      const double value = (std::round(low_ / up_) + i) * up_;
      const double y = Y(value);
      absl::StrAppendFormat(svg,
                            "<line class=\"axis\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
                            kLeft, kWidth - kRight, y, y);
      absl::StrAppendFormat(svg, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.6g</text>\n",
                            kLeft - 6, y + 4, value);
    }
    const double across = MarkDistance(seconds_, kMarksAcross);
    for (int i = 0; i * across <= seconds_; ++i) {
      absl::StrAppendFormat(svg, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.4g s</text>\n",
                            X(i * across), kHeight - 6, i * across);
    }
  }

  void AddFault(int number, bool has_number, const FaultRecord& record, std::string* svg) const {
    const double x = X(*record.at);
    absl::StrAppendFormat(svg, "<g><title>%d: %s</title>\n", number, FaultText(record.fault));
    if (record.lasted) {
      absl::StrAppendFormat(
          svg, "<rect class=\"band\" x=\"%.1f\" width=\"%.1f\" y=\"%d\" height=\"%d\"/>\n", x,
          X(*record.at + *record.lasted) - x, kTop, kHeight - kTop - kBottom);
    }
    absl::StrAppendFormat(svg,
                          "<line class=\"fault\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n",
                          x, x, kTop, kHeight - kBottom);
    if (has_number) {
      absl::StrAppendFormat(
          svg, "<text class=\"number\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%d</text>\n", x,
          kTop - 6, number);
    }
    absl::StrAppend(svg, "</g>\n");
  }

  const Points& points_;
  const double seconds_;
  double low_ = 0;
  double high_ = 1;
  double up_ = 0.2;  // From mark to mark.
};

// "2.1 s, goal 5 s", green or red.
std::string FullSpeedCell(const FaultRecord& record) {
  const std::string time = SecondsText(record.to_full_speed);
  if (!record.at || !record.goal) return time;
  const bool is_reached = record.to_full_speed && *record.to_full_speed <= *record.goal;
  return absl::StrFormat("<span class=\"%s\">%s</span> of %.3g s",
                         is_reached             ? "good"
                         : record.to_full_speed ? "bad"
                                                : "unclear",
                         time, *record.goal);
}

std::string FaultRow(int number, const FaultRecord& record) {
  std::string row = absl::StrCat("<tr><td>", number, "</td><td>", FaultText(record.fault), "</td>");
  const std::string batch = record.at ? absl::StrCat(record.batch) : "-";
  const std::string rate = record.at ? absl::StrFormat("%.4g", record.rate_before) : "-";
  for (const std::string& cell :
       {record.at ? SecondsText(record.at) : "did not fire", batch, rate,
        SecondsText(record.to_notice), SecondsText(record.lasted), FullSpeedCell(record)}) {
    absl::StrAppend(&row, "<td>", cell, "</td>");
  }
  return row + "</tr>\n";
}

std::string Tile(const std::string& number, const std::string& text) {
  return absl::StrCat("<div><b>", number, "</b>", text, "</div>\n");
}

std::string Tiles(const DrillReport& report) {
  const TrainingResult& result = report.result;
  const auto fired = std::count_if(report.faults.begin(), report.faults.end(),
                                   [](const FaultRecord& record) { return record.at.has_value(); });
  std::string tiles = absl::StrCat(
      "<div class=\"tiles\">\n", Tile(absl::StrCat(fired), fired == 1 ? "fault" : "faults"),
      Tile(absl::StrCat(result.applied_batches),
           absl::StrCat("of ", result.total_batches, " batches applied")),
      Tile(absl::StrCat(result.duplicates_refused), "duplicates refused"),
      Tile(absl::StrCat(result.rollbacks), result.rollbacks == 1 ? "rollback" : "rollbacks"),
      Tile(SecondsText(result.seconds),
           report.twin
               ? absl::StrCat("of training, ", SecondsText(report.twin->seconds), " without faults")
               : "of training"));
  if (report.throughput) {
    const Throughput& rates = *report.throughput;
    absl::StrAppend(
        &tiles, Tile(absl::StrFormat("%.0f %%", 100 * rates.under_faults / rates.without_faults),
                     absl::StrFormat("throughput under faults, %.4g of %.4g batches/s",
                                     rates.under_faults, rates.without_faults)));
  }
  return tiles + "</div>\n";
}

}  // namespace

std::vector<LossPoint> LossOverTime(const std::vector<ProgressPoint>& progress, int64_t first,
                                    const std::vector<double>& losses, int points) {
  if (progress.empty()) return {};
  const double begin = progress.front().seconds;
  const double length = (progress.back().seconds - begin) / points;
  std::vector<LossPoint> curve;
  double sum = 0;
  int64_t count = 0;
  double part_end = begin + length;
  const auto end_part = [&](double seconds) {
    if (count > 0) curve.push_back({seconds, sum / static_cast<double>(count)});
    sum = 0;
    count = 0;
  };
  for (size_t i = 1; i < progress.size(); ++i) {
    // After a rollback the same batches are done again, and drawn again.
    const int64_t end = std::min(progress[i].batches, first + static_cast<int64_t>(losses.size()));
    for (int64_t batch = std::max(progress[i - 1].batches, first); batch < end; ++batch) {
      const double loss = losses[batch - first];
      if (!std::isfinite(loss)) continue;
      sum += loss;
      ++count;
    }
    if (progress[i].seconds < part_end) continue;
    end_part(progress[i].seconds);
    while (part_end <= progress[i].seconds && length > 0) part_end += length;
  }
  end_part(progress.back().seconds);
  return curve;
}

ordered_json FaultJson(const FaultRecord& record) {
  ordered_json out;
  out["fault"] = FaultText(record.fault);
  out["fired"] = record.at.has_value();
  out["at_seconds"] = OrNull(record.at);
  out["batch"] = record.batch;
  out["batches_per_second_before"] = Rounded(record.rate_before);
  out["to_notice_seconds"] = OrNull(record.to_notice);
  out["lasted_seconds"] = OrNull(record.lasted);
  out["effects"] = record.effects;
  out["to_full_speed_seconds"] = OrNull(record.to_full_speed);
  out["goal_seconds"] = OrNull(record.goal);
  return out;
}

ordered_json ReportJson(const DrillReport& report) {
  ordered_json out;
  out["verdict"] = VerdictName(report.judgement.verdict);
  out["findings"] = report.judgement.findings;
  out["job"] = report.job;
  out["length"] = report.length;
  out["plan"] = report.plan;
  out["seed"] = report.seed;
  out["ps"] = report.ps;
  out["workers"] = report.workers;
  out["result"] = ResultJson(report.result);
  out["twin"] = report.twin ? ResultJson(*report.twin) : ordered_json();
  if (report.throughput) {
    out["batches_per_second_without_faults"] = Rounded(report.throughput->without_faults);
    out["batches_per_second_under_faults"] = Rounded(report.throughput->under_faults);
  }
  out["compared"] = report.comparison ? "bits" : "counts";
  if (report.comparison) {
    out["values"] = report.comparison->values;
    out["different_values"] = report.comparison->different;
  }
  out["faults"] = ordered_json::array();
  for (const FaultRecord& record : report.faults) out["faults"].push_back(FaultJson(record));
  return out;
}

std::string ReportHtml(const DrillReport& report) {
  const char* const verdict = VerdictName(report.judgement.verdict);
  std::string html = absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n<title>Drill of ",
      Escape(report.job), ": ", verdict, "</title>\n<style>\n", kStyle,
      "</style>\n</head>\n<body>\n<h1><span class=\"verdict ", verdict, "\">", verdict,
      "</span> Drill of ", Escape(report.job), "</h1>\n<p class=\"soft\">Plan ", report.plan,
      ", seed ", report.seed, ", ", report.ps, " ps, ", Plural(report.workers, "worker"), ", ",
      report.length, "</p>\n<ul>\n");
  for (const std::string& finding : report.judgement.findings) {
    absl::StrAppend(&html, "<li>", Escape(finding), "</li>\n");
  }
  absl::StrAppend(&html, "</ul>\n", Tiles(report));
  Points loss;
  for (const LossPoint& point : report.loss) loss.emplace_back(point.seconds, point.loss);
  absl::StrAppend(&html, Chart(loss, report.result.seconds).Svg("Loss", report.faults));
  Points batches;
  const size_t stride = report.progress.size() / kPointsMax + 1;
  for (size_t i = 0; i < report.progress.size(); i += stride) {
    batches.emplace_back(report.progress[i].seconds,
                         static_cast<double>(report.progress[i].batches));
  }
  absl::StrAppend(&html, Chart(batches, report.result.seconds).Svg("Batches done", report.faults),
                  "<h2>Faults</h2>\n<div class=\"scroll\"><table>\n<tr><th></th><th>Fault</th>"
                  "<th>At</th><th>Batch</th><th>Batches/s before</th><th>Noticed after</th>"
                  "<th>Lasted</th><th>Full speed after</th></tr>\n");
  for (size_t i = 0; i < report.faults.size(); ++i) {
    absl::StrAppend(&html, FaultRow(static_cast<int>(i) + 1, report.faults[i]));
  }
  return html +
         "</table></div>\n<p class=\"soft\">Full speed: all tasks are live, and the rate is at "
         "least 80 % of the one before the fault. The time counts from the fault, or from its end "
         "if it lasts. A fault without a time in \"Noticed after\" need not be noticed: it only "
         "must not stop the job.</p>\n</body>\n</html>\n";
}

}  // namespace cairn::cli
