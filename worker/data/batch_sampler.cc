#include "worker/data/batch_sampler.h"

#include <algorithm>

#include "common/check.h"
#include "common/random.h"
#include "worker/data/block_permutation.h"
#include "worker/data/permutation.h"

namespace cairn::worker {

BatchSampler::BatchSampler(int64_t examples, int64_t batch_size, bool shuffle, uint64_t seed,
                           int64_t shuffle_block)
    : examples_(examples),
      batch_size_(batch_size),
      batches_per_pass_((examples - 1) / batch_size + 1),
      shuffle_(shuffle),
      shuffle_block_(shuffle_block),
      key_(DeriveKey(seed, "shuffle")) {
  CAIRN_CHECK(examples > 0 && batch_size > 0);
}

BatchSampler BatchSampler::ForTraining(const proto::JobPlan& plan) {
  BatchSampler sampler(plan.examples(), plan.batch_size(), plan.shuffle(), plan.seed(),
                       plan.job().shuffle_block());
  // Fewer than all if the remainder is dropped. An old plan has no number.
  if (plan.batches_per_pass() > 0) {
    sampler.batches_per_pass_ = std::min(sampler.batches_per_pass_, plan.batches_per_pass());
  }
  // A job that continues at epoch 3 has the orders of epoch 3 and later.
  sampler.first_pass_ =
      plan.job().initial_epoch() * plan.batches_per_epoch() / sampler.batches_per_pass_;
  sampler.draw_key_ = DeriveKey(plan.seed(), "pipeline");
  sampler.counts_passes_ = !plan.job().train().mix().empty();
  return sampler;
}

BatchSampler BatchSampler::ForValidation(const proto::JobPlan& plan) {
  return BatchSampler(plan.validation_examples(), plan.batch_size(), false, 0);
}

void BatchSampler::ExamplesOf(int64_t batch, std::vector<int64_t>* indices) const {
  ExamplesOfPass(batch, indices);
  if (!counts_passes_) return;
  for (int64_t& index : *indices) index += PassOf(batch) * examples_;
}

std::optional<uint64_t> BatchSampler::DrawKeyOf(int64_t batch) const {
  if (!draw_key_) return std::nullopt;
  return DeriveKey(*draw_key_, static_cast<uint64_t>(PassOf(batch)));
}

// The numbers are those in the pass.
void BatchSampler::ExamplesOfPass(int64_t batch, std::vector<int64_t>* indices) const {
  const int64_t pass = PassOf(batch);
  const int64_t begin = batch % batches_per_pass_ * batch_size_;
  const int64_t end = begin + std::min(batch_size_, examples_ - begin);
  indices->resize(end - begin);
  if (!shuffle_) {
    for (int64_t i = begin; i < end; ++i) (*indices)[i - begin] = i;
    return;
  }
  // A new order in each pass, from the seed and the pass's number alone.
  const uint64_t key = DeriveKey(key_, static_cast<uint64_t>(pass));
  if (shuffle_block_ > 0) {
    const BlockPermutation order(examples_, shuffle_block_, key);
    for (int64_t i = begin; i < end; ++i) (*indices)[i - begin] = order.At(i);
    return;
  }
  const Permutation order(examples_, key);
  for (int64_t i = begin; i < end; ++i) (*indices)[i - begin] = order.At(i);
}

}  // namespace cairn::worker
