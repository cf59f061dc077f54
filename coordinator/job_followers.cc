#include "coordinator/job_followers.h"

#include <google/protobuf/util/field_comparator.h>
#include <google/protobuf/util/message_differencer.h>

#include <utility>

#include "absl/strings/str_cat.h"

namespace cairn::coordinator {
namespace {

constexpr absl::Duration kPeriod = absl::Milliseconds(200);

bool IsOver(const proto::JobStatus& status) {
  return status.state() == proto::FINISHED || status.state() == proto::FAILED ||
         status.state() == proto::CANCELLED;
}

// A loss that is NaN, and stays so, is no news.
bool AreSame(const proto::JobStatus& one, const proto::JobStatus& other) {
  google::protobuf::util::DefaultFieldComparator comparator;
  comparator.set_treat_nan_as_equal(true);
  google::protobuf::util::MessageDifferencer differencer;
  differencer.set_field_comparator(&comparator);
  return differencer.Compare(one, other);
}

}  // namespace

void JobFollowers::Add(uint64_t job_id, std::shared_ptr<StatusSink> sink) {
  Follower& follower = followers_.emplace_back();
  follower.job_id = job_id;
  follower.sink = std::move(sink);
}

bool JobFollowers::UpdateOne(Follower* follower, Scheduler* scheduler, EventTime now) {
  // A sink may be gone although the status never changes.
  if (!follower->sink->alive()) return false;
  // The full status has every epoch's evaluation, so it is built only when it will be sent.
  const absl::StatusOr<proto::JobState> state = scheduler->GetState(follower->job_id);
  const bool new_state = state.ok() && *state != follower->shown.state();
  const bool is_due = now.monotonic - follower->shown_at >= kPeriod;
  if (state.ok() && !new_state && !is_due) return true;
  absl::StatusOr<proto::JobStatus> status = scheduler->GetJob(absl::StrCat(follower->job_id), now);
  if (!status.ok()) {
    follower->sink->End(status.status());
    return false;
  }
  if (AreSame(*status, follower->shown)) return true;
  if (!follower->sink->Show(*status)) return false;
  follower->shown_at = now.monotonic;
  const bool over = IsOver(*status);
  if (over) follower->sink->End(absl::OkStatus());
  follower->shown = *std::move(status);
  return !over;
}

void JobFollowers::Update(Scheduler* scheduler, EventTime now) {
  std::erase_if(followers_,
                [&](Follower& follower) { return !UpdateOne(&follower, scheduler, now); });
}

}  // namespace cairn::coordinator
