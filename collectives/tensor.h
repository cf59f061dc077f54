#ifndef CAIRN_COLLECTIVES_TENSOR_H_
#define CAIRN_COLLECTIVES_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace cairn::collectives {

enum class DataType : uint8_t { kFloat32, kFloat16, kBfloat16, kInt32, kInt64 };

// The size of an element, in bytes.
size_t SizeOf(DataType type);

// The memory of a tensor, which the caller owns. Its shape does not matter to collectives.
struct Tensor {
  void* data = nullptr;
  size_t count = 0;  // Elements.
  DataType type = DataType::kFloat32;
  std::string name;  // In timelines and errors.

  size_t bytes() const { return count * SizeOf(type); }
};

// How the values of the ranks become one. kAverage divides the sum by the number of ranks; integers
// are rounded toward zero.
enum class ReduceOp : uint8_t { kSum, kAverage, kMin, kMax, kProduct };

// "sum".
const char* NameOf(ReduceOp op);

// `into[i]` = op(`into[i]`, `from[i]`). kAverage adds: DivideInPlace divides at the end. float16
// and bfloat16 are computed in float32 and rounded to nearest even at each step.
void Reduce(ReduceOp op, DataType type, const void* from, size_t count, void* into);
// `to[i]` = op(`first[i]`, `second[i]`). `to` may be `first` or `second`.
void Reduce(ReduceOp op, DataType type, const void* first, const void* second, size_t count,
            void* to);

// Sets all elements to the value that `op` does not see: 0 for a sum and an average, 1 for a
// product, the greatest value for a minimum (infinity if there is one) and the least for a maximum.
void FillNeutral(ReduceOp op, DataType type, size_t count, void* data);

// Multiplies floating point values by `factor`. Requires a factor of 1 for integers.
void ScaleInPlace(DataType type, double factor, size_t count, void* data);

// Divides by the number of ranks.
void DivideInPlace(DataType type, int divisor, size_t count, void* data);

}  // namespace cairn::collectives

#endif  // CAIRN_COLLECTIVES_TENSOR_H_
