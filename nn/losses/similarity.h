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

// Sun et al. 2020, as in Keras 3: it draws the outputs of examples of one class together and pushes
// those of others apart. With d = max(1 - product of two examples' outputs, 0), m the margin and g
// gamma, an example's loss is
//
//   softplus(log sum over its class of exp(-g (m + d) (m - d))
//            + log sum over others of exp(g max(1 + m - d, 0) (1 - m - d)))
//
// The examples are those of the batch that one worker computes at once. An example without another
// of its class, or of another class, has no loss; the mean is over those that have one.
std::unique_ptr<Loss> CreateCircle(const proto::Loss& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_LOSSES_SIMILARITY_H_
