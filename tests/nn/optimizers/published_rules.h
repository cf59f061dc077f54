#ifndef CAIRN_TESTS_NN_OPTIMIZERS_PUBLISHED_RULES_H_
#define CAIRN_TESTS_NN_OPTIMIZERS_PUBLISHED_RULES_H_

#include <functional>
#include <string>
#include <vector>

#include "proto/job.pb.h"

namespace cairn::nn {

// An optimizer with its arguments, and its published rule for one element in plain double
// precision.
struct PublishedRule {
  std::string name;  // For messages.
  proto::Optimizer config;
  std::vector<double> slots;  // Initial values.
  // Applies update number t (from 1) to a value and its slots.
  std::function<void(int64_t t, double g, double* value, std::vector<double>* slots)> update;
};

// Every optimizer with Keras's defaults, and with every argument that it has.
std::vector<PublishedRule> PublishedRules();

}  // namespace cairn::nn

#endif  // CAIRN_TESTS_NN_OPTIMIZERS_PUBLISHED_RULES_H_
