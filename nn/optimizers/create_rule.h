#ifndef CAIRN_NN_OPTIMIZERS_CREATE_RULE_H_
#define CAIRN_NN_OPTIMIZERS_CREATE_RULE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "nn/optimizers/rule.h"

namespace cairn::proto {
class Optimizer;
}

namespace cairn::nn {

// An optimizer's own rule, with what Keras takes for it where the job file says nothing.
struct NamedRule {
  std::unique_ptr<OptimizerRule> rule;
  double default_learning_rate = 0;
  double default_weight_decay = 0;
};

// The rule of that name (Keras's, case does not matter) with its arguments. INVALID_ARGUMENT names
// an unknown optimizer, an argument that this one does not have, or a value out of range, and says
// what is known.
absl::StatusOr<NamedRule> CreateRule(const proto::Optimizer& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_OPTIMIZERS_CREATE_RULE_H_
