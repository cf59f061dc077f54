#ifndef CAIRN_WORKER_STRATEGY_GRADIENT_CLIPPER_H_
#define CAIRN_WORKER_STRATEGY_GRADIENT_CLIPPER_H_

#include <vector>

#include "absl/types/span.h"
#include "nn/executor.h"
#include "nn/model.h"
#include "nn/optimizers/gradient_clip.h"

namespace cairn::worker {

// Clips the norms of a batch's gradients, which a worker holds whole, where each batch is an update
// of its own. Moving statistics are no gradients: they neither count nor change. Belongs to one
// thread.
class GradientClipper {
 public:
  // `model` and `executor` must outlive it.
  GradientClipper(const nn::GradientClip& clip, const nn::Model* model,
                  const nn::Executor* executor)
      : clip_(clip), model_(*model), executor_(*executor) {}

  // False: every factor is 1.
  bool scales() const { return clip_.needs_norm(); }
  // The norm is one of all gradients: none may be used before the last one is complete.
  bool needs_all() const { return clip_.kind() == nn::GradientClip::Kind::kGlobalNorm; }

  // What the gradient of `variable`, which is complete, is multiplied with. Only without
  // needs_all().
  float ScaleOf(int variable) const;
  // The same for all the gradients of these variables.
  std::vector<float> ScalesOf(absl::Span<const int> variables) const;

 private:
  bool IsGradient(int variable) const;

  const nn::GradientClip clip_;
  const nn::Model& model_;
  const nn::Executor& executor_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_STRATEGY_GRADIENT_CLIPPER_H_
