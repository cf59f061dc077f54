#ifndef CAIRN_NN_FORMATS_TOPOLOGICAL_ORDER_H_
#define CAIRN_NN_FORMATS_TOPOLOGICAL_ORDER_H_

#include "absl/status/status.h"
#include "proto/model.pb.h"

namespace cairn::nn {

// Sorts the layers such that each follows its inputs and the one whose variables it shares; among
// the candidates the one that came first is next. INVALID_ARGUMENT: two layers have the same name,
// an input is not a layer, or there is a cycle.
absl::Status SortTopologically(proto::ModelSpec* spec);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_TOPOLOGICAL_ORDER_H_
