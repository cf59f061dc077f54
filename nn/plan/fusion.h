#ifndef CAIRN_NN_PLAN_FUSION_H_
#define CAIRN_NN_PLAN_FUSION_H_

#include <vector>

#include "nn/device.h"
#include "nn/model.h"

namespace cairn::nn {

// Finds the pairs of layers that the device computes with one kernel (Device::CanFuse). The first
// layer's output must have the second as its only consumer, must not be a model output, and must be
// the second's only input. Both passes of a pair run at the position of its first layer.
struct Fusion {
  Fusion(const Model& model, const Device& device);

  // The node whose output is computed when `node` runs: the second of its pair, or itself.
  int tail(int node) const { return next[node] < 0 ? node : next[node]; }
  // True if `node` runs as part of the pair that starts at previous[node].
  bool is_second(int node) const { return previous[node] >= 0; }

  // By node: the second node of the pair that starts here, or -1.
  std::vector<int> next;
  // By node: the first node of the pair that ends here, or -1.
  std::vector<int> previous;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_PLAN_FUSION_H_
