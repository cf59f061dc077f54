#ifndef CAIRN_WORKER_STRATEGY_GRADIENT_CLIPPER_H_
#define CAIRN_WORKER_STRATEGY_GRADIENT_CLIPPER_H_

#include <vector>

#include "absl/types/span.h"
#include "nn/executor.h"
#include "nn/model.h"
#include "nn/optimizers/gradient_clip.h"

namespace cairn::worker {

// Clips the gradients of a batch by norm on the worker. This is possible if each batch is an update
// of its own, because the worker then has the whole gradient; otherwise see ClippedUpdate. Moving
// statistics (batch normalization) are neither counted nor scaled. Belongs to one thread.
class GradientClipper {
 public:
  // `model` and `executor` must outlive the clipper.
  GradientClipper(const nn::GradientClip& clip, const nn::Model* model,
                  const nn::Executor* executor)
      : clip_(clip), model_(*model), executor_(executor) {}

  // False: every factor is 1.
  bool scales() const { return clip_.needs_norm(); }
  // Whether the norm covers all gradients, so that none may be sent before the last is complete.
  bool needs_all_gradients() const { return clip_.kind() == nn::GradientClip::Kind::kGlobalNorm; }

  // The factor for the gradient of `variable`, which must be complete. Requires
  // !needs_all_gradients().
  float ScaleOf(int variable) const;
  // The factors for the gradients of these variables.
  std::vector<float> ScalesOf(absl::Span<const int> variables) const;

 private:
  bool IsGradient(int variable) const;

  const nn::GradientClip clip_;
  const nn::Model& model_;
  const nn::Executor* const executor_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_STRATEGY_GRADIENT_CLIPPER_H_
