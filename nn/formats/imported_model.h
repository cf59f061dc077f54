#ifndef CAIRN_NN_FORMATS_IMPORTED_MODEL_H_
#define CAIRN_NN_FORMATS_IMPORTED_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "nn/variable_spec.h"
#include "proto/model.pb.h"

namespace cairn::nn {

// A variable's values, float32 and row-major, under its name in the file.
struct NamedTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> values;
};

// InvalidArgument: the tensor does not have as many values as its shape.
absl::Status CheckFilled(const NamedTensor& tensor);

// InvalidArgument: these are not the values of all variables, in order.
absl::Status CheckWeights(const std::vector<VariableSpec>& variables,
                          absl::Span<const NamedTensor> weights);

// The contents of a model file. `weights` are in file order; empty for formats without weights. The
// caller must check that they match the variables of `spec`.
struct ImportedModel {
  proto::ModelSpec spec;
  std::vector<NamedTensor> weights;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_IMPORTED_MODEL_H_
