#ifndef CAIRN_NN_CPU_ID_READER_H_
#define CAIRN_NN_CPU_ID_READER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "nn/layer.h"

namespace cairn::nn {

// Reads a layer's first input as ids in [0, bound). Ids are int32, or floats, which are truncated
// as in Keras. The layer must outlive the reader.
class IdReader {
 public:
  // `bound_name` says in error messages what an id selects: "rows".
  IdReader(const Layer& layer, int64_t bound, const char* bound_name)
      : layer_(layer),
        ids_are_floats_(layer.inputs()[0].type == proto::FLOAT32),
        bound_(bound),
        bound_name_(bound_name) {}

  // Returns id i, or -1 if it is not in [0, bound).
  int64_t Read(const float* ids, int64_t i) const;
  // INVALID_ARGUMENT with the layer, the id and the bound.
  absl::Status Error(const float* ids, int64_t i) const;

 private:
  const Layer& layer_;
  const bool ids_are_floats_;
  const int64_t bound_;
  const char* const bound_name_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_ID_READER_H_
