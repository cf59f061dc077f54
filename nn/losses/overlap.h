#ifndef CAIRN_NN_LOSSES_OVERLAP_H_
#define CAIRN_NN_LOSSES_OVERLAP_H_

#include <memory>

#include "nn/loss.h"

namespace cairn::nn {

// Losses of overlapping regions as in Keras 3 (keras/src/losses/losses.py), of outputs p and labels
// y, where i is the sum of y p and e = 1e-7:
//
//   dice     1 - 2 i / (sum of y + sum of p + e)
//   tversky  1 - i / (i + alpha (sum of y - i) + beta (sum of p - i) + e)
//
// The sums are over the axes `axis` of (examples, shape...), by default over all: then the loss of
// a batch is one number, and the batch is what one worker computes at once. The rest is the mean.
// CreateLoss has validated `config`, except for axes that the output lacks.
std::unique_ptr<Loss> CreateDice(const proto::Loss& config);
std::unique_ptr<Loss> CreateTversky(const proto::Loss& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_LOSSES_OVERLAP_H_
