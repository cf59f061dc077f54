#ifndef CAIRN_NN_FORMATS_ONNX_CONSTANT_H_
#define CAIRN_NN_FORMATS_ONNX_CONSTANT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nn/formats/onnx_node.h"
#include "nn/tensor.h"
#include "proto/onnx.pb.h"

namespace cairn::nn {

// The size of the batch while a graph is read: a prime, so that products of sizes can be divided
// into the batch and the rest. Graphs compute with sizes ("shape of x, its first element, times
// 4"), and all of these are constants here.
inline constexpr int64_t kOnnxBatch = 2147483647;

// Limits the work that a file can cause: constants can be used and combined many times.
class OnnxBudget {
 public:
  explicit OnnxBudget(int64_t elements) : left_(elements) {}
  // RESOURCE_EXHAUSTED if all elements are spent. Negative numbers count as too many.
  absl::Status Spend(int64_t elements);

 private:
  int64_t left_;
};

// A tensor that does not depend on the model's inputs. Booleans are integers.
struct OnnxConstant {
  // The initializer that this is, perhaps with its axes in another order; empty: it is computed.
  std::string name;
  Shape shape;  // Of any sizes from 0; may contain kOnnxBatch if it is uniform.
  bool is_float = true;
  // The elements, row-major. One that stands for all if the tensor is uniform.
  std::vector<float> floats;
  std::vector<int64_t> integers;
  bool is_uniform = false;

  size_t size() const { return is_float ? floats.size() : integers.size(); }
  // Whether all elements are zero.
  bool is_zero() const;
  // The only element, as a number; not for an empty tensor.
  double number() const { return is_float ? floats[0] : static_cast<double>(integers[0]); }
};

// A tensor of a file. INVALID_ARGUMENT: it is in another file, of a type without numbers, or does
// not fill its shape.
absl::StatusOr<OnnxConstant> ReadOnnxTensor(const onnx::TensorProto& tensor, OnnxBudget* budget);

// Another order of the axes: axis i of the result is axis order[i].
absl::StatusOr<OnnxConstant> TransposedConstant(const OnnxConstant& x,
                                                const std::vector<int>& order, OnnxBudget* budget);

// Whether FoldOnnx has this operator.
bool FoldsOnnx(std::string_view op);

// Computes an operator whose inputs are all constant. An input that is absent is null.
absl::StatusOr<OnnxConstant> FoldOnnx(const OnnxNode& node,
                                      const std::vector<const OnnxConstant*>& inputs,
                                      OnnxBudget* budget);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_ONNX_CONSTANT_H_
