#ifndef CAIRN_TESTS_END_TO_END_ARRAYS_H_
#define CAIRN_TESTS_END_TO_END_ARRAYS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace cairn::testing {

// A float32 array in a file. The tests have their own reader and writer, so that the product's
// codecs are compared with an independent implementation.
struct Array {
  std::vector<int64_t> shape;
  std::vector<float> values;
};

// .npy, version 1, little endian float32, C order.
std::string EncodeNpy(const Array& array);
Array DecodeNpy(const std::string& bytes);

// The weights of a TF.js layers model (a folder with model.json and weights.bin), by name.
std::map<std::string, Array> ReadTfjsWeights(const std::string& folder);

// The maximum of |a - b| / max(1, |b|) over the elements; infinite for different shapes or a NaN.
double LargestDifference(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace cairn::testing

#endif  // CAIRN_TESTS_END_TO_END_ARRAYS_H_
