#ifndef CAIRN_NN_LOSSES_SIMILARITY_H_
#define CAIRN_NN_LOSSES_SIMILARITY_H_

#include <memory>

#include "nn/loss.h"

namespace cairn::nn {

// Similarity losses as in Keras 3 (keras/src/losses/losses.py), over the last axis of outputs p
// with labels y, where e = 1e-7:
//
//   kl_divergence      sum of y log(y / p), with y and p clipped to [e, 1]
//   cosine_similarity  - sum of y p / (|y| |p|), where norms are at least e
//
// CreateLoss has validated `config`.
std::unique_ptr<Loss> CreateKlDivergence(const proto::Loss& config);
std::unique_ptr<Loss> CreateCosineSimilarity(const proto::Loss& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_LOSSES_SIMILARITY_H_
