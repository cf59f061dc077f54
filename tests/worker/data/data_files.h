#ifndef CAIRN_TESTS_WORKER_DATA_DATA_FILES_H_
#define CAIRN_TESTS_WORKER_DATA_DATA_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

// Data files built byte by byte, so that the readers are tested against an independent writer.

namespace cairn::testing {

// Writes `bytes` to a new file in the test's temporary folder and returns its path.
std::string WriteDataFile(const std::string& name, const std::string& bytes);

// `bytes` as a gzip file.
std::string Gzip(const std::string& bytes);

// An idx file of a type code, axis sizes and encoded elements.
std::string IdxBytes(uint8_t type, const std::vector<uint32_t>& shape, const std::string& data);

// A .npy file of format version `major`.
std::string NpyBytes(const std::string& descr, const std::string& shape, const std::string& data,
                     int major = 1, const std::string& fortran_order = "False");

// The bytes of the values, in the machine's byte order.
template <typename T>
std::string Raw(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

}  // namespace cairn::testing

#endif  // CAIRN_TESTS_WORKER_DATA_DATA_FILES_H_
