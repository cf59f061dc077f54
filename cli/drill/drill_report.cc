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

constexpr char kStyle[] = R"(body { font: 15px/1.5 sans-serif; max-width: 960px; margin: 2em auto; }
table { border-collapse: collapse; }
td, th { padding: 0.2em 0.8em; border-bottom: 1px solid #ddd; text-align: right; }
td:nth-child(2), th:nth-child(2) { text-align: left; }
svg { width: 100%; font: 11px sans-serif; }
.curve { fill: none; stroke: #1f6fb2; stroke-width: 1.5; }
.axis { stroke: #ddd; }
.fault { stroke: #c0392b; stroke-dasharray: 3 3; }
.number { fill: #c0392b; }
.passed { color: #1e8449; } .wrong { color: #c0392b; } .void { color: #b9770e; }
)";

std::string Escape(const std::string& text) {
  return absl::StrReplaceAll(text,
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string SecondsText(const std::optional<double>& seconds) {
  return seconds ? absl::StrFormat("%.1f s", *seconds) : "-";
}

using Points = std::vector<std::pair<double, double>>;

// A drawing of one curve over the seconds of the drill, with a line for each fault.
class Chart {
 public:
  Chart(const Points& points, double seconds) : points_(points), seconds_(std::max(seconds, 1e-3)) {
    if (points.empty()) return;
    const auto by_value = [](const auto& a, const auto& b) { return a.second < b.second; };
    const auto [least, most] = std::minmax_element(points.begin(), points.end(), by_value);
    low_ = least->second;
    high_ = most->second > low_ ? most->second : low_ + std::max(1.0, std::abs(low_));
  }

  std::string Svg(const std::string& title, const std::vector<FaultRecord>& faults) const {
    std::string svg =
        absl::StrFormat("<h2>%s</h2>\n<svg viewBox=\"0 0 %d %d\">\n", title, kWidth, kHeight);
    for (int i = 0; i <= kTicks; ++i) AddTick(static_cast<double>(i) / kTicks, &svg);
    for (size_t i = 0; i < faults.size(); ++i) {
      if (faults[i].at) AddFault(static_cast<int>(i) + 1, faults[i], &svg);
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
  static constexpr int kWidth = 900;
  static constexpr int kHeight = 240;
  static constexpr int kLeft = 70;
  static constexpr int kRight = 20;
  static constexpr int kTop = 20;
  static constexpr int kBottom = 25;
  static constexpr int kTicks = 5;

  double X(double seconds) const { return kLeft + (kWidth - kLeft - kRight) * seconds / seconds_; }
  double Y(double value) const {
    return kHeight - kBottom - (kHeight - kTop - kBottom) * (value - low_) / (high_ - low_);
  }

  void AddTick(double share, std::string* svg) const {
    const double x = X(share * seconds_);
    const double value = low_ + share * (high_ - low_);
    const double y = Y(value);
    absl::StrAppendFormat(svg,
                          "<line class=\"axis\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
                          kLeft, kWidth - kRight, y, y);
    absl::StrAppendFormat(svg, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.6g</text>\n",
                          kLeft - 6, y + 4, value);
    absl::StrAppendFormat(svg, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.4g s</text>\n",
                          x, kHeight - 6, share * seconds_);
  }

  void AddFault(int number, const FaultRecord& record, std::string* svg) const {
    const double x = X(*record.at);
    absl::StrAppendFormat(svg,
                          "<line class=\"fault\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" "
                          "y2=\"%d\"><title>%s</title></line>\n",
                          x, x, kTop, kHeight - kBottom, FaultText(record.fault));
    absl::StrAppendFormat(
        svg, "<text class=\"number\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%d</text>\n", x,
        kTop - 6, number);
  }

  const Points& points_;
  const double seconds_;
  double low_ = 0;
  double high_ = 1;
};

std::string FaultRow(int number, const FaultRecord& record) {
  std::string row = absl::StrCat("<tr><td>", number, "</td><td>", FaultText(record.fault), "</td>");
  const std::string batch = record.at ? absl::StrCat(record.batch) : "-";
  const std::string rate = record.at ? absl::StrFormat("%.4g", record.rate_before) : "-";
  for (const std::string& cell : {record.at ? SecondsText(record.at) : "did not fire", batch, rate,
                                  SecondsText(record.to_notice), SecondsText(record.stopped),
                                  SecondsText(record.to_full_speed)}) {
    absl::StrAppend(&row, "<td>", cell, "</td>");
  }
  return row + "</tr>\n";
}

std::string CountsText(const TrainingResult& result) {
  return absl::StrFormat("%d of %d batches in %.1f s, %d duplicates refused, %s.",
                         result.batches_done, result.total_batches, result.seconds,
                         result.duplicates_refused, Plural(result.rollbacks, "rollback"));
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
  out["stopped_seconds"] = OrNull(record.stopped);
  out["to_full_speed_seconds"] = OrNull(record.to_full_speed);
  return out;
}

ordered_json ReportJson(const DrillReport& report) {
  ordered_json out;
  out["verdict"] = VerdictName(report.judgement.verdict);
  out["findings"] = report.judgement.findings;
  out["job"] = report.job;
  out["plan"] = report.plan;
  out["seed"] = report.seed;
  out["ps"] = report.ps;
  out["workers"] = report.workers;
  out["result"] = ResultJson(report.result);
  out["twin"] = report.twin ? ResultJson(*report.twin) : ordered_json();
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
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Drill of ",
      Escape(report.job), ": ", verdict, "</title>\n<style>\n", kStyle,
      "</style>\n</head>\n<body>\n<h1>Drill of ", Escape(report.job), ": <span class=\"", verdict,
      "\">", verdict, "</span></h1>\n<p>Plan ", report.plan, ", seed ", report.seed, ", ",
      report.ps, " ps, ", Plural(report.workers, "worker"), ". ", CountsText(report.result));
  if (report.twin) absl::StrAppend(&html, " Without faults: ", CountsText(*report.twin));
  absl::StrAppend(&html, "</p>\n<ul>\n");
  for (const std::string& finding : report.judgement.findings) {
    absl::StrAppend(&html, "<li>", Escape(finding), "</li>\n");
  }
  absl::StrAppend(&html, "</ul>\n");
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
                  "<h2>Faults</h2>\n<table>\n<tr><th></th><th>fault</th><th>at</th><th>batch</th>"
                  "<th>batches/s before</th><th>noticed after</th><th>stopped for</th>"
                  "<th>full speed after</th></tr>\n");
  for (size_t i = 0; i < report.faults.size(); ++i) {
    absl::StrAppend(&html, FaultRow(static_cast<int>(i) + 1, report.faults[i]));
  }
  return html +
         "</table>\n<p>Full speed: all tasks are live, and the rate is at least 80 % of the one "
         "before the fault. After a hang its time counts from the end of the hang.</p>\n</body>\n"
         "</html>\n";
}

}  // namespace cairn::cli
