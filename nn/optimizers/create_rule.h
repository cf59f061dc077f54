#ifndef CAIRN_NN_OPTIMIZERS_CREATE_RULE_H_
#define CAIRN_NN_OPTIMIZERS_CREATE_RULE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "nn/optimizers/rule.h"

namespace cairn::proto {
class Optimizer;
}

namespace cairn::nn {

// An optimizer's rule with Keras's defaults for what the job file leaves out.
struct NamedRule {
  std::unique_ptr<OptimizerRule> rule;
  double default_learning_rate = 0;
  double default_weight_decay = 0;
};

// Creates the rule called config.name(): Keras's name, case-insensitive. INVALID_ARGUMENT: an
// unknown optimizer, an argument that it does not have, or a value out of range; the message lists
// the known ones.
absl::StatusOr<NamedRule> CreateRule(const proto::Optimizer& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_OPTIMIZERS_CREATE_RULE_H_
