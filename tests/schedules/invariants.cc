#include "tests/schedules/invariants.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "coordinator/training/applied_batches.h"

namespace cairn::schedules {

namespace {

// The number of batches below `end` that change weight `weight`.
int64_t BatchesOf(const JobShape& job, int64_t weight, int64_t end) {
  return end > weight ? (end - weight - 1) / job.width + 1 : 0;
}

}  // namespace

std::string CheckPulledValues(const JobShape& job, int64_t batch, uint32_t block,
                              const parameters::BlockBuffer& values) {
  int64_t all_below = 0;
  int64_t none_from = job.total;
  if (job.mode == "sync") {
    all_below = none_from = job.UpdateBegin(batch);
  } else if (job.mode == "stale") {
    all_below = std::max<int64_t>(0, batch - job.window);
  }
  for (int64_t weight = 0; weight < job.width; ++weight) {
    const float count = -values.data()[weight];
    if (count == std::trunc(count) && count >= BatchesOf(job, weight, all_below) &&
        count <= BatchesOf(job, weight, none_from)) {
      continue;
    }
    return absl::StrCat("batch ", batch, " was computed on values of block ", block,
                        " in which batch ", weight, " counted ", count, " times");
  }
  return "";
}

std::string CheckManifest(const JobShape& job, const proto::Manifest& manifest,
                          const std::vector<SnapshotDisk>& disks) {
  const auto open = coordinator::OpenBatches(manifest.ledger(), job.total);
  if (!open.ok()) return "a manifest has a bad ledger";
  std::vector<float> counts(job.width);
  for (int64_t batch = 0; batch < job.total; ++batch) {
    if (!open->Contains(batch)) ++counts[batch % job.width];
  }
  std::set<uint32_t> found;
  for (const SnapshotDisk& disk : disks) {
    for (const auto& [name, part] : disk.parts()) {
      if (name.first != manifest.checkpoint()) continue;
      for (const auto& [id, block] : part) {
        if (disk.FindSynced(name) != nullptr) found.insert(id);
        for (int64_t weight = 0; weight < job.width; ++weight) {
          if (-block.values[weight] == counts[weight]) continue;
          return absl::StrCat("checkpoint ", manifest.checkpoint(), ": batch ", weight, " counted ",
                              -block.values[weight], " times, listed ", counts[weight]);
        }
      }
    }
  }
  if (found.size() == job.blocks) return "";
  return absl::StrCat("checkpoint ", manifest.checkpoint(), " has only ", found.size(),
                      " blocks that survive a loss of power");
}

std::string CheckFinalBlocks(const JobShape& job,
                             const std::vector<parameters::BlockState>& blocks) {
  for (const parameters::BlockState& block : blocks) {
    if (block.ledger.low_water() != job.total) {
      return absl::StrCat("finished, and the ledger of a block ends at ", block.ledger.low_water(),
                          " of ", job.total);
    }
    for (int64_t weight = 0; weight < job.width; ++weight) {
      const float count = -block.values.data()[weight];
      if (count == BatchesOf(job, weight, job.total)) continue;
      return absl::StrCat("batch ", weight, " counted ", count, " times");
    }
  }
  return "";
}

}  // namespace cairn::schedules
