#include "tests/end_to_end/arrays.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "nlohmann/json.hpp"
#include "tests/end_to_end/process.h"

namespace cairn::testing {
namespace {

std::vector<float> FloatsOf(const char* bytes, size_t count) {
  std::vector<float> values(count);
  std::memcpy(values.data(), bytes, count * sizeof(float));
  return values;
}

}  // namespace

std::string EncodeNpy(const Array& array) {
  std::string shape;
  for (int64_t dimension : array.shape) shape += std::to_string(dimension) + ",";
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(array.values.data()), array.values.size() * 4);
  return bytes;
}

Array DecodeNpy(const std::string& bytes) {
  Array array;
  if (bytes.size() < 10) return array;
  const size_t header_size =
      static_cast<uint8_t>(bytes[8]) + 256 * static_cast<size_t>(static_cast<uint8_t>(bytes[9]));
  const std::string header = bytes.substr(10, header_size);
  size_t position = header.find('(') + 1;
  size_t count = 1;
  while (header[position] != ')') {
    if (header[position] == ',' || header[position] == ' ') {
      ++position;
      continue;
    }
    size_t digits = 0;
    array.shape.push_back(std::stoll(header.substr(position), &digits));
    count *= array.shape.back();
    position += digits;
  }
  if (bytes.size() == 10 + header_size + count * 4)
    array.values = FloatsOf(bytes.data() + 10 + header_size, count);
  return array;
}

std::map<std::string, Array> ReadTfjsWeights(const std::string& folder) {
  std::map<std::string, Array> result;
  const auto model = nlohmann::json::parse(ReadFile(folder + "/model.json"), nullptr, false);
  if (!model.is_object()) return result;
  for (const auto& group : model.at("weightsManifest")) {
    std::string bytes;
    for (const auto& path : group.at("paths"))
      bytes += ReadFile(folder + "/" + path.get<std::string>());
    size_t offset = 0;
    for (const auto& weight : group.at("weights")) {
      Array array{weight.at("shape").get<std::vector<int64_t>>(), {}};
      size_t count = 1;
      for (int64_t dimension : array.shape) count *= dimension;
      if (offset + count * 4 > bytes.size()) return {};
      array.values = FloatsOf(bytes.data() + offset, count);
      offset += count * 4;
      result[weight.at("name").get<std::string>()] = std::move(array);
    }
  }
  return result;
}

double LargestDifference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]) / std::max(1.0, std::abs(double{b[i]}));
    if (!(difference <= largest)) largest = difference;
    if (std::isnan(difference)) return std::numeric_limits<double>::infinity();
  }
  return largest;
}

}  // namespace cairn::testing
