#include "tests/schedules/invariants.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "coordinator/training/applied_batches.h"

namespace cairn::schedules {

std::string CheckPulledValues(const JobShape& job, int64_t batch, uint32_t block,
                              const ps::BlockBuffer& values) {
  int64_t all_below = 0;
  int64_t none_from = job.total;
  if (job.mode == "sync") {
    all_below = none_from = job.UpdateBegin(batch);
  } else if (job.mode == "stale") {
    all_below = std::max<int64_t>(0, batch - job.window);
  }
  for (int64_t other = 0; other < job.total; ++other) {
    const float count = -values.data()[other];
    const bool right = other < all_below    ? count == 1
                       : other >= none_from ? count == 0
                                            : count == 0 || count == 1;
    if (right) continue;
    return absl::StrCat("batch ", batch, " was computed on values of block ", block,
                        " in which batch ", other, " counted ", count, " times");
  }
  return "";
}

std::string CheckManifest(const JobShape& job, const proto::Manifest& manifest,
                          const std::vector<Disk>& disks) {
  const auto open = coordinator::OpenBatches(manifest.ledger(), job.total);
  if (!open.ok()) return "a manifest has a bad ledger";
  std::set<uint32_t> found;
  for (const Disk& disk : disks) {
    for (const auto& [name, part] : disk) {
      if (name.first != manifest.checkpoint()) continue;
      for (const auto& [id, block] : part) {
        found.insert(id);
        for (int64_t batch = 0; batch < job.total; ++batch) {
          const float expected = open->Contains(batch) ? 0 : -1;
          if (block.values[batch] == expected) continue;
          return absl::StrCat("checkpoint ", manifest.checkpoint(), ": batch ", batch, " counted ",
                              -block.values[batch], " times, listed ", -expected);
        }
      }
    }
  }
  if (found.size() == kBlocks) return "";
  return absl::StrCat("checkpoint ", manifest.checkpoint(), " has only ", found.size(), " blocks");
}

std::string CheckFinalBlocks(const JobShape& job, const std::vector<ps::BlockState>& blocks) {
  for (const ps::BlockState& block : blocks) {
    if (block.ledger.low_water() != job.total) {
      return absl::StrCat("finished, and the ledger of a block ends at ", block.ledger.low_water(),
                          " of ", job.total);
    }
    for (int64_t batch = 0; batch < job.total; ++batch) {
      const float count = -block.values.data()[batch];
      if (count != 1) return absl::StrCat("batch ", batch, " counted ", count, " times");
    }
  }
  return "";
}

}  // namespace cairn::schedules
