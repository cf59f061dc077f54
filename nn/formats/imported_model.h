#ifndef CAIRN_NN_FORMATS_IMPORTED_MODEL_H_
#define CAIRN_NN_FORMATS_IMPORTED_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "proto/model.pb.h"

namespace cairn::nn {

// A variable's values under its name in the file, float32, row-major.
struct NamedTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> values;
};

// What a model file holds. `weights` is empty for formats that have none, and else in file order;
// whether they are the variables of `spec` is for the caller to compare.
struct ImportedModel {
  proto::ModelSpec spec;
  std::vector<NamedTensor> weights;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_IMPORTED_MODEL_H_
