#include "cli/profile/profile_summary.h"

#include <algorithm>
#include <limits>
#include <map>

#include "cluster/tf_config.h"

namespace cairn::cli {
namespace {

constexpr double kNanosecond = 1e-9;

// Sums the spans of one kind by name, in the order of the report's names.
std::vector<ProfileSummary::Part> AddUp(const proto::ProfileReport& report,
                                        const std::string& kind) {
  std::vector<ProfileSummary::Part> parts(report.names_size());
  for (int i = 0; i < report.names_size(); ++i) parts[i].name = report.names(i).name();
  for (const proto::ProfileSpan& span : report.spans()) {
    if (span.name() >= parts.size()) continue;
    ++parts[span.name()].count;
    parts[span.name()].seconds += static_cast<double>(span.nanoseconds()) * kNanosecond;
  }
  std::vector<ProfileSummary::Part> result;
  for (int i = 0; i < report.names_size(); ++i) {
    if (report.names(i).kind() == kind) result.push_back(std::move(parts[i]));
  }
  return result;
}

double WallSeconds(const proto::ProfileReport& report) {
  int64_t begin = std::numeric_limits<int64_t>::max();
  int64_t end = 0;
  for (const proto::ProfileSpan& span : report.spans()) {
    begin = std::min(begin, span.begin_nanoseconds());
    end = std::max(end, span.begin_nanoseconds() + span.nanoseconds());
  }
  return report.spans().empty() ? 0 : static_cast<double>(end - begin) * kNanosecond;
}

// The time of the pushes that begin during the backward pass of their batch. It is part of the
// pass's span; pushes after the pass are not.
double SecondsOfPushesWithinPasses(const proto::ProfileReport& report) {
  std::map<int64_t, int64_t> end_of_pass;  // By batch.
  const auto is_phase = [&report](const proto::ProfileSpan& span, const char* name) {
    return span.name() < static_cast<uint32_t>(report.names_size()) &&
           report.names(span.name()).kind() == "phase" && report.names(span.name()).name() == name;
  };
  for (const proto::ProfileSpan& span : report.spans()) {
    if (!is_phase(span, "backward")) continue;
    end_of_pass[span.batch()] = span.begin_nanoseconds() + span.nanoseconds();
  }
  int64_t nanoseconds = 0;
  for (const proto::ProfileSpan& span : report.spans()) {
    const auto end = end_of_pass.find(span.batch());
    const bool is_within = is_phase(span, "push") && end != end_of_pass.end() &&
                           span.begin_nanoseconds() < end->second;
    if (is_within) nanoseconds += span.nanoseconds();
  }
  return static_cast<double>(nanoseconds) * kNanosecond;
}

// Forward and backward pass become the phase "compute", without the pushes inside of them. The rest
// of the time is "other".
std::vector<ProfileSummary::Part> WorkerPhases(const std::vector<ProfileSummary::Part>& parts,
                                               double pushes_within_passes, double wall_seconds) {
  std::map<std::string, ProfileSummary::Part> by_name;
  for (const auto& part : parts) by_name[part.name] = part;
  const int64_t passes = by_name["backward"].count;
  const double compute =
      by_name["forward"].seconds + by_name["backward"].seconds - pushes_within_passes;
  std::vector<ProfileSummary::Part> phases = {by_name["data"],
                                              by_name["wait"],
                                              by_name["pull"],
                                              {"compute", passes, std::max(0.0, compute)},
                                              by_name["push"]};
  double other = wall_seconds;
  for (const auto& phase : phases) other -= phase.seconds;
  phases.push_back({"other", passes, std::max(0.0, other)});
  return phases;
}

std::vector<ProfileSummary::Layer> Layers(const proto::ProfileReport& report) {
  std::vector<ProfileSummary::Layer> layers;
  std::map<std::string, size_t> place;
  for (const auto& part : AddUp(report, "forward")) {
    place[part.name] = layers.size();
    layers.push_back({part.name, part.seconds, 0});
  }
  for (const auto& part : AddUp(report, "backward")) {
    if (place.contains(part.name)) layers[place[part.name]].backward_seconds = part.seconds;
  }
  std::erase_if(layers, [](const auto& layer) {
    return layer.forward_seconds == 0 && layer.backward_seconds == 0;
  });
  return layers;
}

}  // namespace

ProfileSummary Summarize(const proto::ProfileReport& report) {
  ProfileSummary summary;
  summary.task = cluster::TaskName(report.role(), report.index());
  summary.steps = report.steps();
  summary.seconds = WallSeconds(report);
  summary.phases = AddUp(report, "phase");
  if (report.role() == proto::PS) return summary;
  summary.phases =
      WorkerPhases(summary.phases, SecondsOfPushesWithinPasses(report), summary.seconds);
  summary.layers = Layers(report);
  summary.loaded_batches = report.loaded_batches();
  summary.reading_seconds = static_cast<double>(report.reading_nanoseconds()) * kNanosecond;
  summary.decoding_seconds = static_cast<double>(report.decoding_nanoseconds()) * kNanosecond;
  return summary;
}

}  // namespace cairn::cli
