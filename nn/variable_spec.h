#ifndef CAIRN_NN_VARIABLE_SPEC_H_
#define CAIRN_NN_VARIABLE_SPEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "nn/initializer_spec.h"

namespace cairn::nn {

// What a model says of one of its variables: float32, row-major, Keras's layout.
struct VariableSpec {
  enum class Update {
    kOptimized,      // the optimizer's rule, with a gradient
    kMovingAverage,  // ApplyMovingAverage, with the batch's statistic and `momentum`
    kFrozen,         // never: its layer is not trainable
  };

  // As Keras and TF.js name it: "LAYER/kernel", "LAYER/moving_mean".
  std::string name;
  // Empty for a scalar. All dimensions are positive.
  std::vector<int64_t> shape;
  Update update = Update::kOptimized;
  double momentum = 0;
  InitializerSpec initializer;

  int64_t element_count() const;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_VARIABLE_SPEC_H_
