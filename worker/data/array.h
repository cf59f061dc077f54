#ifndef CAIRN_WORKER_DATA_ARRAY_H_
#define CAIRN_WORKER_DATA_ARRAY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "nn/tensor.h"

namespace cairn::worker {

enum class ElementType {
  kBool,
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kUint64,
  kInt64,
  kFloat32,
  kFloat64,
};

int64_t ElementBytes(ElementType type);
// NumPy's name: "uint8".
const char* ElementName(ElementType type);

// A data file's contents in memory, in the type in which the file stores them (so that bytes stay
// bytes), in this machine's byte order. The first axis counts examples.
struct Array {
  std::string file;  // For messages.
  ElementType type = ElementType::kFloat32;
  nn::Shape shape;    // At least one axis; nothing negative.
  std::string bytes;  // The elements, from data_offset to the end.
  size_t data_offset = 0;

  int64_t examples() const { return shape[0]; }
  // Of one example.
  nn::Shape example_shape() const { return {shape.begin() + 1, shape.end()}; }
  // "uint8 (60000, 28, 28)".
  std::string ToString() const;
};

// Elements [first, first + count) of the array, as float times `scale` (the product is rounded
// once) or as int32. The range must lie within the array, and for int32 FindNotInt32 have found
// nothing.
void CopyAsFloat(const Array& array, int64_t first, int64_t count, double scale, float* out);
void CopyAsInt32(const Array& array, int64_t first, int64_t count, int32_t* out);

// What a look at every element finds.
struct ValueRange {
  double minimum = 0;
  double maximum = 0;
};

// Nullopt for an array without elements. A NaN makes both bounds NaN.
std::optional<ValueRange> FindRange(const Array& array);

// The first element that is not a whole number of 32 bits.
std::optional<int64_t> FindNotInt32(const Array& array);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_ARRAY_H_
