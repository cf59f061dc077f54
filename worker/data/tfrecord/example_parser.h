#ifndef CAIRN_WORKER_DATA_TFRECORD_EXAMPLE_PARSER_H_
#define CAIRN_WORKER_DATA_TFRECORD_EXAMPLE_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "worker/data/features/feature_values.h"

namespace cairn::worker {

// Parses serialized tf.train.Examples, as protobuf does: a later feature with the same name
// replaces an earlier one, lists may be packed or not, and unknown fields are skipped.
// Immutable, thread-safe.
class ExampleParser {
 public:
  struct Wanted {
    std::string name;
    int64_t most = 0;  // The most values that are stored.
  };

  // Features may have the same name.
  explicit ExampleParser(std::vector<Wanted> features);
  ExampleParser(const ExampleParser&) = delete;
  ExampleParser& operator=(const ExampleParser&) = delete;

  // Sets (*values)[i] to the values of feature i. They point into `record`. InvalidArgument: it is
  // not a serialized Example.
  absl::Status Parse(std::string_view record, std::vector<FeatureValues>* values) const;

  // The names of the features of a record that Parse accepts, for messages.
  static std::vector<std::string> NamesIn(std::string_view record);

 private:
  std::vector<Wanted> features_;
  // By name, which features_ has.
  std::unordered_map<std::string_view, std::vector<size_t>> indices_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_TFRECORD_EXAMPLE_PARSER_H_
