#ifndef CAIRN_COORDINATOR_RECOVERY_CUT_OFF_MEMBERS_H_
#define CAIRN_COORDINATOR_RECOVERY_CUT_OFF_MEMBERS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "coordinator/membership.h"

namespace cairn::coordinator {

// Chooses the members that a job must go on without, because they and others reach the coordinator
// and lastingly not each other (Membership::PsGaps). Of two members that do not reach each other
// the one that lacks more others is cut off, else the one with the higher number. A member that was
// cut off returns when it was live, and it and the others have reached each other, for a whole
// progress timeout: so a connection that comes and goes does not stop the job more than half of the
// time. While a member's stream is broken and its lease lasts, its gaps are unknown and nobody is
// chosen.
//
// Pure state machine, not thread-safe.
class CutOffMembers {
 public:
  // `members` must outlive it. `cut_off`: as an earlier coordinator process decided.
  CutOffMembers(const Membership* members, absl::Span<const uint32_t> cut_off);

  // Whether the job can and must go on without these members.
  using MayLeave = absl::FunctionRef<bool(const std::set<uint32_t>& cut_off)>;
  // `members`: the ps that take part in the job. `all_pairs`: the job stops if any two of them do
  // not reach each other; else it needs one whose worker reaches all. `may_leave`: asked about all
  // members that are chosen now; if it returns false, none of them is cut off.
  void Update(std::set<uint32_t> members, bool all_pairs, MayLeave may_leave, absl::Duration now);

  bool Contains(uint32_t ps) const { return cut_off_.contains(ps); }
  std::vector<uint32_t> All() const;
  // "ps 2 and ps 0 have not reached each other for 60 s". `ps` must be contained.
  const std::string& Why(uint32_t ps) const { return cut_off_.at(ps).why; }

 private:
  struct CutOff {
    std::string why;
    std::optional<absl::Duration> last_gap;  // When there was one; nullopt: before this process.
  };

  void TakeBack(const std::set<uint32_t>& members, absl::Duration now);
  void NoteReports(absl::Duration now);
  bool IsTooLong(const Membership::Gap& gap, absl::Duration now) const;
  bool IsAway(uint32_t ps) const;

  const Membership& members_;
  std::map<uint32_t, CutOff> cut_off_;
  // By the pair of ps: when the gap was reported first.
  std::map<std::pair<uint32_t, uint32_t>, absl::Duration> reported_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_RECOVERY_CUT_OFF_MEMBERS_H_
