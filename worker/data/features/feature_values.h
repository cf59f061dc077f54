#ifndef CAIRN_WORKER_DATA_FEATURES_FEATURE_VALUES_H_
#define CAIRN_WORKER_DATA_FEATURES_FEATURE_VALUES_H_

#include <cstdint>
#include <string_view>
#include <vector>

namespace cairn::worker {

// The values of one feature of an example: of a tf.train.Example, or of a row of a table.
struct FeatureValues {
  enum class Kind { kMissing, kBytes, kFloats, kInts, kDoubles };
  Kind kind = Kind::kMissing;
  int64_t count = 0;
  // The list of `kind` has the values, but no more than are wanted.
  std::vector<std::string_view> bytes;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<double> doubles;
  // The indices of nulls in the list, ascending. They have values that mean nothing.
  std::vector<int64_t> nulls;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_FEATURES_FEATURE_VALUES_H_
