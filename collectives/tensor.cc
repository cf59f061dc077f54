#include "collectives/tensor.h"

#include <algorithm>
#include <limits>

#include "common/check.h"
#include "common/half.h"

namespace cairn::collectives {
namespace {

struct Float16 {
  uint16_t bits;
};
struct Bfloat16 {
  uint16_t bits;
};

float ToFloat(float value) { return value; }
float ToFloat(Bfloat16 value) { return FloatFromBfloat16(value.bits); }
float ToFloat(Float16 value) { return FloatFromFloat16(value.bits); }

void FromFloat(float value, float* out) { *out = value; }
void FromFloat(float value, Bfloat16* out) { out->bits = Bfloat16FromFloat(value); }
void FromFloat(float value, Float16* out) { out->bits = Float16FromFloat(value); }

template <typename T>
T Combine(ReduceOp op, T a, T b) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAverage:
      return a + b;
    case ReduceOp::kMin:
      return std::min(a, b);
    case ReduceOp::kMax:
      return std::max(a, b);
    case ReduceOp::kProduct:
      return a * b;
  }
  return a;
}

// Integers wrap around.
template <typename T>
T CombineIntegers(ReduceOp op, T a, T b) {
  using Unsigned = std::make_unsigned_t<T>;
  if (op == ReduceOp::kMin || op == ReduceOp::kMax) return Combine(op, a, b);
  return static_cast<T>(Combine(op, static_cast<Unsigned>(a), static_cast<Unsigned>(b)));
}

// `op` is constant in each loop, so that the compiler vectorizes it.
template <ReduceOp op, typename T>
void ReduceFloats(const void* first, const void* second, size_t count, void* to) {
  const T* const a = static_cast<const T*>(first);
  const T* const b = static_cast<const T*>(second);
  T* const c = static_cast<T*>(to);
  for (size_t i = 0; i < count; ++i) FromFloat(Combine(op, ToFloat(a[i]), ToFloat(b[i])), &c[i]);
}

template <ReduceOp op, typename T>
void ReduceIntegers(const void* first, const void* second, size_t count, void* to) {
  const T* const a = static_cast<const T*>(first);
  const T* const b = static_cast<const T*>(second);
  T* const c = static_cast<T*>(to);
  for (size_t i = 0; i < count; ++i) c[i] = CombineIntegers(op, a[i], b[i]);
}

template <ReduceOp op>
void ReduceOf(DataType type, const void* first, const void* second, size_t count, void* to) {
  switch (type) {
    case DataType::kFloat32:
      return ReduceFloats<op, float>(first, second, count, to);
    case DataType::kFloat16:
      return ReduceFloats<op, Float16>(first, second, count, to);
    case DataType::kBfloat16:
      return ReduceFloats<op, Bfloat16>(first, second, count, to);
    case DataType::kInt32:
      return ReduceIntegers<op, int32_t>(first, second, count, to);
    case DataType::kInt64:
      return ReduceIntegers<op, int64_t>(first, second, count, to);
  }
}

template <typename T>
void Fill(T value, size_t count, void* data) {
  std::fill_n(static_cast<T*>(data), count, value);
}

template <typename T>
void FillNeutralFloats(ReduceOp op, size_t count, void* data) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  T value;
  FromFloat(op == ReduceOp::kProduct ? 1.0F
            : op == ReduceOp::kMin   ? kInfinity
            : op == ReduceOp::kMax   ? -kInfinity
                                     : 0.0F,
            &value);
  Fill(value, count, data);
}

template <typename T>
void FillNeutralIntegers(ReduceOp op, size_t count, void* data) {
  Fill<T>(op == ReduceOp::kProduct ? 1
          : op == ReduceOp::kMin   ? std::numeric_limits<T>::max()
          : op == ReduceOp::kMax   ? std::numeric_limits<T>::lowest()
                                   : 0,
          count, data);
}

template <typename T>
void ScaleFloats(float factor, size_t count, void* data) {
  T* const values = static_cast<T*>(data);
  for (size_t i = 0; i < count; ++i) FromFloat(ToFloat(values[i]) * factor, &values[i]);
}

template <typename T>
void DivideIntegers(int divisor, size_t count, void* data) {
  T* const values = static_cast<T*>(data);
  for (size_t i = 0; i < count; ++i) values[i] /= static_cast<T>(divisor);
}

}  // namespace

size_t SizeOf(DataType type) {
  switch (type) {
    case DataType::kFloat16:
    case DataType::kBfloat16:
      return 2;
    case DataType::kFloat32:
    case DataType::kInt32:
      return 4;
    case DataType::kInt64:
      return 8;
  }
  return 0;
}

const char* NameOf(ReduceOp op) {
  constexpr const char* kNames[] = {"sum", "average", "min", "max", "product"};
  return kNames[static_cast<int>(op)];
}

void Reduce(ReduceOp op, DataType type, const void* from, size_t count, void* into) {
  Reduce(op, type, into, from, count, into);
}

void Reduce(ReduceOp op, DataType type, const void* first, const void* second, size_t count,
            void* to) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAverage:
      return ReduceOf<ReduceOp::kSum>(type, first, second, count, to);
    case ReduceOp::kMin:
      return ReduceOf<ReduceOp::kMin>(type, first, second, count, to);
    case ReduceOp::kMax:
      return ReduceOf<ReduceOp::kMax>(type, first, second, count, to);
    case ReduceOp::kProduct:
      return ReduceOf<ReduceOp::kProduct>(type, first, second, count, to);
  }
}

void FillNeutral(ReduceOp op, DataType type, size_t count, void* data) {
  switch (type) {
    case DataType::kFloat32:
      return FillNeutralFloats<float>(op, count, data);
    case DataType::kFloat16:
      return FillNeutralFloats<Float16>(op, count, data);
    case DataType::kBfloat16:
      return FillNeutralFloats<Bfloat16>(op, count, data);
    case DataType::kInt32:
      return FillNeutralIntegers<int32_t>(op, count, data);
    case DataType::kInt64:
      return FillNeutralIntegers<int64_t>(op, count, data);
  }
}

void ScaleInPlace(DataType type, double factor, size_t count, void* data) {
  if (factor == 1) return;
  const auto single = static_cast<float>(factor);
  switch (type) {
    case DataType::kFloat32:
      return ScaleFloats<float>(single, count, data);
    case DataType::kFloat16:
      return ScaleFloats<Float16>(single, count, data);
    case DataType::kBfloat16:
      return ScaleFloats<Bfloat16>(single, count, data);
    case DataType::kInt32:
    case DataType::kInt64:
      CAIRN_CHECK(false);
  }
}

void DivideInPlace(DataType type, int divisor, size_t count, void* data) {
  if (type == DataType::kInt32) return DivideIntegers<int32_t>(divisor, count, data);
  if (type == DataType::kInt64) return DivideIntegers<int64_t>(divisor, count, data);
  ScaleInPlace(type, 1.0 / divisor, count, data);
}

}  // namespace cairn::collectives
