#ifndef CAIRN_NN_CONFIG_ARGUMENTS_H_
#define CAIRN_NN_CONFIG_ARGUMENTS_H_

#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace google::protobuf {
class Message;
}

namespace cairn::nn {

// The valid range of a number in a job file. The number must also be finite as a float.
struct ArgumentRange {
  enum class Ends { kIncluded, kAboveSmallest, kBelowLargest };

  double smallest = 0;
  double largest = std::numeric_limits<double>::max();
  Ends ends = Ends::kIncluded;
};

// Checks that a message of the job file sets no fields other than `name` and those in `known`.
// INVALID_ARGUMENT names the unknown argument, the most similar known one, and the list of known
// ones.
absl::Status CheckArguments(const google::protobuf::Message& config,
                            const std::vector<std::string>& known);

// Checks that a value is in `range`. INVALID_ARGUMENT: "'momentum' is 1.5; it must be from 0 to 1".
absl::Status CheckArgument(const std::string& name, double value, const ArgumentRange& range);

// Converts a Keras class name to snake case: "CosineDecayRestarts" becomes "cosine_decay_restarts".
// Names in snake case are returned unchanged.
std::string SnakeCase(const std::string& name);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CONFIG_ARGUMENTS_H_
