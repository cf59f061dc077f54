#include "job/batch_groups.h"

#include <algorithm>

namespace cairn::job {
namespace {

// The ends of the groups, counted in examples of a pass.
std::vector<int64_t> ExampleEnds(const proto::JobPlan& plan) {
  std::vector<int64_t> ends;
  if (plan.shuffle()) {
    if (!plan.job().has_shuffle_block()) return ends;
    // Not more than all examples, so that the product does not overflow.
    const int64_t block = std::min(plan.job().shuffle_block(), plan.examples());
    const int64_t group = std::min(block * kShuffleBlocksMixed, plan.examples());
    for (int64_t end = group; end < plan.examples(); end += group) ends.push_back(end);
    ends.push_back(plan.examples());
    return ends;
  }
  int64_t end = 0;
  for (const proto::IndexedFile& file : plan.data().train_index()) {
    end += file.examples();
    ends.push_back(end);
  }
  // A pipeline leaves rows out: then the places of the files in the pass are not known.
  if (end != plan.examples()) ends.clear();
  return ends;
}

}  // namespace

BatchGroups BatchGroups::ForTraining(const proto::JobPlan& plan) {
  const int64_t batches =
      plan.batches_per_pass() > 0 ? plan.batches_per_pass() : plan.batches_per_epoch();
  std::vector<int64_t> ends;
  // A batch belongs to the group of its first example.
  for (const int64_t examples : ExampleEnds(plan)) {
    const int64_t end = std::min((examples - 1) / plan.batch_size() + 1, batches);
    if (end > (ends.empty() ? 0 : ends.back())) ends.push_back(end);
  }
  const bool is_useful = !ends.empty() && ends.back() == batches &&
                         static_cast<int64_t>(ends.size()) > 1 &&
                         static_cast<int64_t>(ends.size()) <= batches / 2;
  return is_useful ? BatchGroups(std::move(ends)) : BatchGroups();
}

int64_t BatchGroups::Of(int64_t batch) const {
  const int64_t pass = batch / ends_.back();
  const auto end = std::upper_bound(ends_.begin(), ends_.end(), batch % ends_.back());
  return pass * static_cast<int64_t>(ends_.size()) + (end - ends_.begin());
}

std::pair<int64_t, int64_t> BatchGroups::Range(int64_t group) const {
  const auto groups = static_cast<int64_t>(ends_.size());
  const int64_t first = group / groups * ends_.back();
  const int64_t place = group % groups;
  return {first + (place == 0 ? 0 : ends_[place - 1]), first + ends_[place]};
}

}  // namespace cairn::job
