#ifndef CAIRN_NN_FORMATS_TOPOLOGICAL_ORDER_H_
#define CAIRN_NN_FORMATS_TOPOLOGICAL_ORDER_H_

#include "absl/status/status.h"
#include "proto/model.pb.h"

namespace cairn::nn {

// Reorders the layers so that each stands after its inputs; of those that could be next, the one
// that stood first is. INVALID_ARGUMENT: two layers of one name, an input that is no layer, or a
// cycle.
absl::Status SortTopologically(proto::ModelSpec* spec);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_TOPOLOGICAL_ORDER_H_
