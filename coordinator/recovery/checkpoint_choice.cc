#include "coordinator/recovery/checkpoint_choice.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace cairn::coordinator {
namespace {

bool Contains(const std::vector<uint32_t>& list, uint32_t ps) {
  return std::find(list.begin(), list.end(), ps) != list.end();
}

// The state of one checkpoint.
struct Finding {
  CheckpointChoice choice;
  bool lost = false;
  bool waits = false;  // What is missing may be on a disk that hangs, or of a ps that is absent.
};

Finding Examine(const proto::Manifest& manifest, const SnapshotSurvey& survey, uint32_t ps_count,
                int64_t copies) {
  Finding finding;
  CheckpointChoice& choice = finding.choice;
  choice.checkpoint = manifest.checkpoint();
  const std::set<uint32_t>& absent = survey.absent();
  choice.scattered = manifest.partition().ps_count() != ps_count;
  const size_t keepers_wanted = copies > 1 && ps_count - absent.size() > 1 ? 2 : 1;
  for (const proto::SnapshotPart& part : manifest.parts()) {
    if (part.blocks() == 0) continue;
    const std::vector<uint32_t> keepers = survey.Keepers(manifest.checkpoint(), part);
    const bool is_absent = absent.contains(part.ps());
    const bool in_cluster = part.ps() < ps_count && !is_absent;
    if (in_cluster && !Contains(keepers, part.ps())) choice.without.insert(part.ps());
    if (!Contains(keepers, part.ps()) || keepers.size() < keepers_wanted) choice.scattered = true;
    proto::SnapshotSource source;
    *source.mutable_part() = part;
    for (const uint32_t ps : survey.Holders(manifest.checkpoint(), part)) source.add_holders(ps);
    if (source.holders().empty() && is_absent) finding.waits = true;
    const bool missing = source.holders().empty() && in_cluster;
    const std::vector<uint32_t> hanging = survey.Hanging();
    if (missing && hanging.empty()) finding.lost = true;
    if (missing && !hanging.empty()) {
      finding.waits = true;
      choice.awaited.insert(hanging.begin(), hanging.end());
    }
    if (source.holders().empty() && !in_cluster) choice.awaited.insert(part.ps());
    choice.parts.push_back(std::move(source));
  }
  return finding;
}

}  // namespace

CheckpointChoice ChooseCheckpoint(absl::Span<const proto::Manifest> manifests,
                                  const SnapshotSurvey& survey, uint32_t ps_count, int64_t copies) {
  CheckpointChoice none;
  bool is_newest = true;
  std::optional<CheckpointChoice> waits;
  for (size_t i = manifests.size(); i-- > 0;) {
    if (!manifests[i].damaged().empty()) continue;
    Finding finding = Examine(manifests[i], survey, ps_count, copies);
    // The warning names what is missing of the newest checkpoint, even if an older one is chosen.
    if (std::exchange(is_newest, false)) none.without = finding.choice.without;
    if (finding.lost) continue;
    finding.choice.without = none.without;
    if (!finding.waits) return std::move(finding.choice);
    if (!waits.has_value()) waits = std::move(finding.choice);
  }
  return waits.value_or(none);
}

}  // namespace cairn::coordinator
