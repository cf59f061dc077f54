#include "collectives/timeline.h"

#include <cstdio>
#include <fstream>

#include "absl/time/clock.h"
#include "nlohmann/json.hpp"

namespace cairn::collectives {
namespace {

constexpr size_t kEventsMax = 1000000;

}  // namespace

Timeline::Span::Span(Timeline* timeline, const char* activity, const std::string& tensor)
    : timeline_(timeline), activity_(activity), tensor_(tensor), begin_(absl::Now()) {}

Timeline::Span::~Span() { timeline_->Add(activity_, tensor_, begin_, absl::Now()); }

void Timeline::Add(const char* activity, const std::string& tensor, absl::Time begin,
                   absl::Time end) {
  Event event = {activity, tensor, absl::ToUnixMicros(begin),
                 absl::ToInt64Microseconds(end - begin)};
  if (events_.size() < kEventsMax) {
    events_.push_back(std::move(event));
    return;
  }
  events_[next_] = std::move(event);
  next_ = (next_ + 1) % kEventsMax;
}

void Timeline::Write(const std::string& file) const {
  nlohmann::json events = nlohmann::json::array();
  for (size_t i = 0; i < events_.size(); ++i) {
    const Event& event = events_[(next_ + i) % events_.size()];
    events.push_back({{"name", event.activity},
                      {"ph", "X"},
                      {"pid", rank_},
                      {"tid", 0},
                      {"ts", event.begin_us},
                      {"dur", event.duration_us},
                      {"args", {{"tensor", event.tensor}}}});
  }
  std::ofstream out(file);
  out << nlohmann::json{{"traceEvents", events}}.dump(-1, ' ', false,
                                                      nlohmann::json::error_handler_t::replace)
      << "\n";
  out.close();
  if (!out) std::fprintf(stderr, "cannot write the timeline %s\n", file.c_str());
}

}  // namespace cairn::collectives
