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

bool Has(absl::Span<const uint32_t> list, uint32_t ps) {
  return std::find(list.begin(), list.end(), ps) != list.end();
}

// The members that `ps` does not reach, or that do not reach it.
size_t CountLacking(uint32_t ps, const std::vector<Gap>& gaps) {
  std::set<uint32_t> others;
  for (const Gap& gap : gaps) {
    if (gap.from == ps) others.insert(gap.to);
    if (gap.to == ps) others.insert(gap.from);
  }
  return others.size();
}

bool ReachesAll(uint32_t ps, const std::vector<Gap>& gaps) {
  return std::none_of(gaps.begin(), gaps.end(), [ps](const Gap& gap) { return gap.from == ps; });
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

void CutOffMembers::TakeBack(absl::Span<const uint32_t> members, absl::Duration now) {
  std::set<uint32_t> lacking;
  for (const Gap& gap : members_.PsGaps()) {
    if (Has(members, gap.to)) lacking.insert(gap.from);
    if (Has(members, gap.from)) lacking.insert(gap.to);
    if (gap.from == gap.to) lacking.insert(gap.from);
  }
  for (auto entry = cut_off_.begin(); entry != cut_off_.end();) {
    std::optional<absl::Duration>& last_gap = entry->second.last_gap;
    if (!last_gap.has_value() || lacking.contains(entry->first)) last_gap = now;
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

void CutOffMembers::Update(std::vector<uint32_t> members, bool all_pairs, absl::Duration now) {
  std::erase_if(members, [this](uint32_t ps) { return Contains(ps); });
  TakeBack(members, now);
  NoteReports(now);
  while (true) {
    std::vector<Gap> gaps = members_.PsGaps();
    std::erase_if(gaps,
                  [&](const Gap& gap) { return !Has(members, gap.from) || !Has(members, gap.to); });
    const auto live = std::count_if(members.begin(), members.end(),
                                    [this](uint32_t ps) { return members_.IsLive(PsTask(ps)); });
    if (live < 2) return;
    const bool one_reaches_all = std::any_of(members.begin(), members.end(), [&](uint32_t ps) {
      return members_.IsLive(PsTask(ps)) && ReachesAll(ps, gaps);
    });
    if (!all_pairs && one_reaches_all) return;
    // Of all that are in a gap that has lasted too long.
    std::pair<size_t, uint32_t> most;
    const Gap* why = nullptr;
    for (const Gap& gap : gaps) {
      if (!IsTooLong(gap, now)) continue;
      for (const uint32_t ps : {gap.from, gap.to}) {
        const std::pair<size_t, uint32_t> lacks = {CountLacking(ps, gaps), ps};
        if (why != nullptr && lacks <= most) continue;
        most = lacks;
        why = &gap;
      }
    }
    if (why == nullptr) return;
    const uint32_t ps = most.second;
    cut_off_[ps] = {Text(ps, *why), now};
    std::erase(members, ps);
  }
}

}  // namespace cairn::coordinator
