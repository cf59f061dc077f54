#include "coordinator/recovery/cut_off_members.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace cairn::coordinator {
namespace {

using Gap = Membership::Gap;

// Where bytes vanish, each member notices this at another moment, when a ping has timed out. A
// member that nobody reaches must not be judged by the first report.
constexpr absl::Duration kReportsComeWithin = absl::Seconds(3);

// By ps: the members that it does not reach, or that do not reach it.
std::map<uint32_t, std::set<uint32_t>> FindLacking(const std::vector<Gap>& gaps) {
  std::map<uint32_t, std::set<uint32_t>> lacking;
  for (const Gap& gap : gaps) {
    lacking[gap.from].insert(gap.to);
    lacking[gap.to].insert(gap.from);
  }
  return lacking;
}

std::string Text(uint32_t ps, const Gap& gap) {
  const std::string duration = absl::StrCat(absl::ToInt64Seconds(gap.duration), " s");
  if (gap.from == gap.to) return absl::StrCat("ps ", ps, " has not reached itself for ", duration);
  return absl::StrCat("ps ", ps, " and ps ", gap.from == ps ? gap.to : gap.from,
                      " have not reached each other for ", duration);
}

}  // namespace

CutOffMembers::CutOffMembers(const Membership* members, absl::Span<const uint32_t> cut_off)
    : members_(*members) {
  for (const uint32_t ps : cut_off) cut_off_[ps];
}

std::vector<uint32_t> CutOffMembers::All() const {
  std::vector<uint32_t> all;
  for (const auto& [ps, cut_off] : cut_off_) all.push_back(ps);
  return all;
}

void CutOffMembers::TakeBack(const std::set<uint32_t>& members, absl::Duration now) {
  std::set<uint32_t> lacking;
  for (const Gap& gap : members_.PsGaps()) {
    if (members.contains(gap.to)) lacking.insert(gap.from);
    if (members.contains(gap.from)) lacking.insert(gap.to);
    if (gap.from == gap.to) lacking.insert(gap.from);
  }
  for (auto entry = cut_off_.begin(); entry != cut_off_.end();) {
    std::optional<absl::Duration>& last_gap = entry->second.last_gap;
    // No gap is known of one that is away.
    const bool has_gap = lacking.contains(entry->first) || !members_.IsLive(PsTask(entry->first));
    if (!last_gap.has_value() || has_gap) last_gap = now;
    const bool is_back = now - *last_gap >= members_.options().progress_timeout;
    entry = is_back ? cut_off_.erase(entry) : std::next(entry);
  }
}

void CutOffMembers::NoteReports(absl::Duration now) {
  std::map<std::pair<uint32_t, uint32_t>, absl::Duration> reported;
  for (const Gap& gap : members_.PsGaps()) {
    const auto known = reported_.find({gap.from, gap.to});
    reported[{gap.from, gap.to}] = known != reported_.end() ? known->second : now;
  }
  reported_ = std::move(reported);
}

bool CutOffMembers::IsTooLong(const Gap& gap, absl::Duration now) const {
  return gap.duration > members_.options().progress_timeout &&
         now - reported_.at({gap.from, gap.to}) >= kReportsComeWithin;
}

// Its stream is broken. It may be on its way back.
bool CutOffMembers::IsAway(uint32_t ps) const {
  const Member* const member = members_.Find(PsTask(ps));
  return member != nullptr && !member->live() && !member->lost;
}

void CutOffMembers::Update(std::set<uint32_t> members, bool all_pairs, MayLeave may_leave,
                           absl::Duration now) {
  std::erase_if(members, [this](uint32_t ps) { return Contains(ps); });
  TakeBack(members, now);
  NoteReports(now);
  if (std::any_of(members.begin(), members.end(), [this](uint32_t ps) { return IsAway(ps); }))
    return;
  std::vector<Gap> gaps = members_.PsGaps();
  std::map<uint32_t, CutOff> chosen;
  while (true) {
    std::erase_if(gaps, [&](const Gap& gap) {
      return !members.contains(gap.from) || !members.contains(gap.to);
    });
    std::set<uint32_t> reach_all;
    for (const uint32_t ps : members) {
      if (members_.IsLive(PsTask(ps))) reach_all.insert(ps);
    }
    if (reach_all.size() < 2) break;
    for (const Gap& gap : gaps) reach_all.erase(gap.from);
    if (!all_pairs && !reach_all.empty()) break;
    const std::map<uint32_t, std::set<uint32_t>> lacking = FindLacking(gaps);
    // Of all that are in a gap that has lasted too long.
    std::pair<size_t, uint32_t> most;
    const Gap* why = nullptr;
    for (const Gap& gap : gaps) {
      if (!IsTooLong(gap, now)) continue;
      for (const uint32_t ps : {gap.from, gap.to}) {
        const std::pair<size_t, uint32_t> lacks = {lacking.at(ps).size(), ps};
        if (why != nullptr && lacks <= most) continue;
        most = lacks;
        why = &gap;
      }
    }
    if (why == nullptr) break;
    const uint32_t ps = most.second;
    chosen[ps] = {Text(ps, *why), now};
    members.erase(ps);
  }
  std::set<uint32_t> leaving;
  for (const auto& [ps, cut_off] : chosen) leaving.insert(ps);
  if (!leaving.empty() && may_leave(leaving)) cut_off_.merge(chosen);
}

}  // namespace cairn::coordinator
