#ifndef CAIRN_NN_LOSSES_SIMILARITY_H_
#define CAIRN_NN_LOSSES_SIMILARITY_H_

#include <memory>

#include "nn/loss.h"

namespace cairn::nn {

// keras/src/losses/losses.py (Keras 3), over the last axis of outputs p with labels y, e = 1e-7:
//   kl_divergence      sum of y log(y / p), both clipped to [e, 1] first
//   cosine_similarity  - sum of y p / (|y| |p|); a norm below e counts as e
// `config` has been checked by CreateLoss.
std::unique_ptr<Loss> CreateKlDivergence(const proto::Loss& config);
std::unique_ptr<Loss> CreateCosineSimilarity(const proto::Loss& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_LOSSES_SIMILARITY_H_
