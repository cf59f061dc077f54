#ifndef CAIRN_COORDINATOR_PROGRESS_WATCH_H_
#define CAIRN_COORDINATOR_PROGRESS_WATCH_H_

#include <algorithm>
#include <string>

#include "absl/time/time.h"

namespace cairn::coordinator {

// Detects a job that makes no progress. The caller describes progress as a text; the job is stalled
// while the text stays the same. Not thread-safe.
//
// Every stall shows in stalled() after 30 s. Events are fewer, because each becomes a note: a job
// with long batches stalls before each of them, so after a stall that ended by itself only a stall
// twice as long is an event.
class ProgressWatch {
 public:
  static constexpr absl::Duration kFirstThreshold = absl::Seconds(30);

  enum class Event {
    kNone,
    kStalled,  // No progress for the threshold. Once per stall.
    kGoesOn,   // A reported stall is over.
  };

  // Returns what changed at `now`. After kGoesOn, stalled_for() is the length of the stall.
  Event Update(std::string progress, absl::Duration now) {
    if (progress == progress_ && !first_) {
      stalled_for_ = now - since_;
      stalled_ = stalled_for_ >= kFirstThreshold;
      if (reported_ || stalled_for_ < threshold_) return Event::kNone;
      reported_ = true;
      return Event::kStalled;
    }
    stalled_for_ = first_ ? absl::ZeroDuration() : now - since_;
    first_ = false;
    stalled_ = false;
    progress_ = std::move(progress);
    since_ = now;
    if (!reported_) return Event::kNone;
    reported_ = false;
    threshold_ = std::max(threshold_, 2 * stalled_for_);
    return Event::kGoesOn;
  }

  // There has been no progress for at least 30 s.
  bool stalled() const { return stalled_; }
  absl::Duration stalled_for() const { return stalled_for_; }

 private:
  bool first_ = true;
  std::string progress_;
  absl::Duration since_;
  absl::Duration stalled_for_;
  absl::Duration threshold_ = kFirstThreshold;
  bool stalled_ = false;
  bool reported_ = false;  // By kStalled.
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_PROGRESS_WATCH_H_
