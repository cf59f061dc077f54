#ifndef CAIRN_NN_CONFIG_CONFIG_ARGUMENTS_H_
#define CAIRN_NN_CONFIG_CONFIG_ARGUMENTS_H_

#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace google::protobuf {
class Message;
}

namespace cairn::nn {

// What a number in a configuration may be. Finite as a float in any case.
struct ArgumentRange {
  enum class Ends { kIncluded, kAboveSmallest, kBelowLargest };

  double smallest = 0;
  double largest = std::numeric_limits<double>::max();
  Ends ends = Ends::kIncluded;
};

// Checks that a job file's message says nothing but its `name` and the arguments in `known`.
// INVALID_ARGUMENT names the one that is too much, what it may have been meant to be, and the list.
absl::Status CheckArguments(const google::protobuf::Message& config,
                            const std::vector<std::string>& known);

// INVALID_ARGUMENT: "'momentum' is 1.5; it must be from 0 to 1".
absl::Status CheckArgument(const std::string& name, double value, const ArgumentRange& range);

// The lower-case name with underscores of a Keras class: "CosineDecayRestarts" is
// "cosine_decay_restarts"; names that have the form already stay as they are.
std::string SnakeCase(const std::string& name);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CONFIG_CONFIG_ARGUMENTS_H_
