#include "worker/strategy/clipped_update.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace cairn::worker {

absl::Status ClippedUpdate::Add(absl::Span<const uint32_t> blocks,
                                const proto::PushReplyHeader& reply) {
  // The ps has discarded the reduced gradients, so it has no sums for them.
  if (reply.update_applied()) {
    applied_ = true;
    return absl::OkStatus();
  }
  if (static_cast<size_t>(reply.sums_size()) != blocks.size()) {
    return absl::InternalError(absl::StrCat("a ps answered a push of ", blocks.size(),
                                            " blocks with ", reply.sums_size(),
                                            " sums of squares"));
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    const proto::SquareSum& sum = reply.sums(static_cast<int>(i));
    const absl::StatusOr<nn::SquareSum> of_block =
        nn::SquareSum::FromWords(sum.words(), !sum.infinite());
    if (!of_block.ok()) return absl::InternalError(of_block.status().message());
    sums_[table_->block(blocks[i]).variable].Add(*of_block);
  }
  return absl::OkStatus();
}

std::vector<proto::UpdateScales> ClippedUpdate::Scales() const {
  std::vector<double> values;
  for (const nn::SquareSum& sum : sums_) values.push_back(sum.value());
  const std::vector<float> scales = clip_.NormScales(values);
  std::vector<proto::UpdateScales> by_ps(table_->ps_count());
  for (int variable = 0; variable < table_->variable_count(); ++variable) {
    const bool is_gradient =
        model_->variables()[variable].update == nn::VariableSpec::Update::kOptimized;
    for (const uint32_t id : table_->blocks_of(variable)) {
      const BlockTable::Block& block = table_->block(id);
      if (!block.pushed) continue;
      by_ps[block.ps].add_blocks(id);
      by_ps[block.ps].add_scales(is_gradient ? scales[variable] : 1.0f);
    }
  }
  return by_ps;
}

}  // namespace cairn::worker
