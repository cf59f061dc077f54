#ifndef CAIRN_NN_VARIABLE_SPEC_H_
#define CAIRN_NN_VARIABLE_SPEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "nn/constraint.h"
#include "nn/initializer_spec.h"

namespace cairn::nn {

// The description of a model's variable: float32, row-major, in Keras's layout. A value type.
struct VariableSpec {
  enum class Update {
    kOptimized,      // by the optimizer's rule, from a gradient
    kMovingAverage,  // by ApplyMovingAverage, from the batch's statistic and `momentum`
    kFrozen,         // never: the layer is not trainable
  };

  // Keras's and TF.js's name: "LAYER/kernel", "LAYER/moving_mean".
  std::string name;
  // Positive dimensions; empty for a scalar.
  std::vector<int64_t> shape;
  Update update = Update::kOptimized;
  double momentum = 0;
  InitializerSpec initializer;
  // Applied after each update of a kOptimized variable.
  Constraint constraint;

  int64_t element_count() const;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_VARIABLE_SPEC_H_
