#include "cli/view/cluster_text.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "cli/progress_text.h"
#include "cli/status_json.h"
#include "common/plural.h"

namespace cairn::cli {
namespace {

using Row = std::vector<std::string>;

// Stands before each column.
constexpr absl::string_view kGap = "  ";

// The rate of a task: requests of a ps, examples of a worker.
std::string RateText(const proto::Member& member) {
  if (member.role() == proto::PS) {
    return CountText(member.requests_per_second()) + " requests/s";
  }
  if (member.role() == proto::COORDINATOR) return "-";
  return CountText(member.examples_per_second()) + " examples/s";
}

// What the process occupies, and the limit: "1.2 GiB of 16.0 GiB".
std::string MemoryText(const proto::Member& member) {
  if (member.memory_bytes() == 0) return "-";
  const std::string used = BytesText(member.memory_bytes());
  if (member.memory_limit_bytes() == 0) return used;
  return absl::StrCat(used, " of ", BytesText(member.memory_limit_bytes()));
}

// The median rate of the workers that compute; 0 if none does.
double MedianRate(const proto::ClusterStatus& cluster) {
  std::vector<double> rates;
  for (const proto::Member& member : cluster.members()) {
    if (member.role() != proto::WORKER || !member.live()) continue;
    if (member.examples_per_second() > 0) rates.push_back(member.examples_per_second());
  }
  if (rates.empty()) return 0;
  // Of two it is the faster one: the other one may be slow.
  const auto middle = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2);
  std::nth_element(rates.begin(), middle, rates.end());
  return *middle;
}

// Of a worker with less than a quarter of the median rate: "slow: 1/12 of the median rate".
std::string SlownessText(const proto::Member& member, double median) {
  constexpr double kSlow = 4;
  const double rate = member.examples_per_second();
  if (member.role() != proto::WORKER || !member.live() || rate <= 0) return "";
  if (rate * kSlow >= median) return "";
  return absl::StrFormat(", slow: 1/%.0f of the median rate", median / rate);
}

std::string OrDash(const std::string& text) { return text.empty() ? "-" : text; }

// The state, and for a task that has left how long ago that was.
std::string StateText(const proto::Member& member, uint64_t term, double median_rate) {
  if (absl::StartsWith(member.activity(), "stuck")) return member.activity();
  std::string state = MemberState(member, term) + SlownessText(member, median_rate);
  if (member.messages_refused() > 0) {
    const auto refused = static_cast<int64_t>(member.messages_refused());
    absl::StrAppend(&state, ", ", Plural(refused, "message"), " refused");
  }
  // Of a ps: that others do not reach it, or it them.
  if (member.role() == proto::PS && !member.activity().empty()) {
    return absl::StrCat(state, ", ", member.activity());
  }
  if (member.live() || !HasJoined(member)) return state;
  return absl::StrCat(state, " ", DurationText(member.lease_age_seconds()));
}

std::string HeardText(const proto::Member& member, uint64_t term) {
  if (member.role() == proto::COORDINATOR) return "-";
  if (HasJoined(member)) return absl::StrFormat("%.1f s", member.lease_age_seconds());
  return term > 1 ? "not since start" : "-";
}

Row RowOf(const proto::Member& member, uint64_t term, double median_rate) {
  const std::string role = absl::AsciiStrToLower(proto::Role_Name(member.role()));
  const bool is_coordinator = member.role() == proto::COORDINATOR;
  return {is_coordinator ? role : absl::StrCat(role, "-", member.index()),
          StateText(member, term, median_rate),
          OrDash(member.address()),
          OrDash(member.host()),
          is_coordinator || HasJoined(member) ? absl::StrCat(member.pid()) : "-",
          absl::StrCat(member.incarnation()),
          HeardText(member, term),
          member.live() ? MemoryText(member) : "-",
          member.live() && member.disk_free_bytes() > 0 ? BytesText(member.disk_free_bytes()) : "-",
          member.live() ? RateText(member) : "-",
          OrDash(member.device())};
}

// The width of each column: that of its longest cell.
std::vector<size_t> WidthsOf(const std::vector<Row>& rows) {
  std::vector<size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  return widths;
}

void DropColumn(const char* name, std::vector<Row>* rows) {
  const Row& titles = rows->front();
  const auto column = std::find(titles.begin(), titles.end(), name) - titles.begin();
  if (column == static_cast<std::ptrdiff_t>(titles.size())) return;
  for (Row& row : *rows) row.erase(row.begin() + column);
}

// Removes the least informative columns first. TASK, STATE, RATE and DEVICE always stay.
void DropColumns(size_t width, std::vector<Row>* rows) {
  for (const char* name : {"HOST", "PID", "ADDRESS", "JOINED", "HEARD", "DISK FREE", "MEMORY"}) {
    const std::vector<size_t> widths = WidthsOf(*rows);
    const size_t gaps = kGap.size() * widths.size();
    if (std::accumulate(widths.begin(), widths.end(), gaps) <= width) return;
    DropColumn(name, rows);
  }
}

// Pads all columns except the last.
std::string Table(const std::vector<Row>& rows) {
  const std::vector<size_t> widths = WidthsOf(rows);
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      absl::StrAppend(&line, kGap, row[i]);
      if (i + 1 < row.size()) line.append(widths[i] - row[i].size(), ' ');
    }
    absl::StrAppend(&text, absl::StripTrailingAsciiWhitespace(line), "\n");
  }
  return text;
}

}  // namespace

std::string BytesText(int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return unit == 0 ? absl::StrCat(bytes, " B") : absl::StrFormat("%.1f %s", value, kUnits[unit]);
}

std::vector<proto::Member> MembersOf(const proto::ClusterStatus& cluster) {
  std::vector<proto::Member> members;
  if (cluster.has_coordinator()) members.push_back(cluster.coordinator());
  members.insert(members.end(), cluster.members().begin(), cluster.members().end());
  return members;
}

std::string ClusterText(const proto::ClusterStatus& cluster, const std::string& address,
                        int width) {
  std::vector<Row> rows = {{"TASK", "STATE", "ADDRESS", "HOST", "PID", "JOINED", "HEARD", "MEMORY",
                            "DISK FREE", "RATE", "DEVICE"}};
  const double median_rate = MedianRate(cluster);
  for (const proto::Member& member : MembersOf(cluster)) {
    rows.push_back(RowOf(member, cluster.term(), median_rate));
  }
  const bool knows_disks = std::any_of(
      cluster.members().begin(), cluster.members().end(),
      [](const proto::Member& member) { return member.live() && member.disk_free_bytes() > 0; });
  if (!knows_disks) DropColumn("DISK FREE", &rows);
  if (width > 0) DropColumns(static_cast<size_t>(width), &rows);
  return absl::StrCat("cluster of the coordinator at ", address, ", Cairn ", cluster.version(),
                      ", start ", cluster.term(), "\n", Table(rows));
}

}  // namespace cairn::cli
