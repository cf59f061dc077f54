#ifndef CAIRN_NN_PLAN_FUSION_H_
#define CAIRN_NN_PLAN_FUSION_H_

#include <vector>

#include "nn/device.h"
#include "nn/model.h"

namespace cairn::nn {

// Which layers a device computes two at a time (Device::Fuses): the second takes the first's output
// and nothing else, and nobody else takes or sees that output. Both passes of a pair run where its
// first layer stands.
struct Fusion {
  Fusion(const Model& model, const Device& device);

  // The node whose output comes out when `node` has run: the second of its pair, or itself.
  int tail(int node) const { return next[node] < 0 ? node : next[node]; }
  // Whether `node` runs with the one before it.
  bool is_second(int node) const { return previous[node] >= 0; }

  // By node: the second of the pair that it begins, or -1.
  std::vector<int> next;
  // By node: the first of the pair that it ends, or -1.
  std::vector<int> previous;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_PLAN_FUSION_H_
