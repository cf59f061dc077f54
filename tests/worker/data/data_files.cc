#include "tests/worker/data/data_files.h"

#include <zlib.h>

#include <fstream>

#include "gtest/gtest.h"

namespace cairn::testing {

std::string WriteDataFile(const std::string& name, const std::string& bytes) {
  const std::string path = ::testing::TempDir() + "/" + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::string Gzip(const std::string& bytes) {
  const std::string path = ::testing::TempDir() + "/gzip_scratch.gz";
  const gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, bytes.data(), bytes.size());
  gzclose(file);
  std::ifstream stream(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

std::string IdxBytes(uint8_t type, const std::vector<uint32_t>& shape, const std::string& data) {
  std::string bytes = {0, 0, static_cast<char>(type), static_cast<char>(shape.size())};
  for (uint32_t size : shape) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(size >> shift));
  }
  return bytes + data;
}

std::string NpyBytes(const std::string& descr, const std::string& shape, const std::string& data,
                     int major, const std::string& fortran_order) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': " + fortran_order +
                       ", 'shape': " + shape + ", }";
  const size_t prefix = major == 1 ? 10 : 12;
  while ((prefix + header.size() + 1) % 64 != 0) header.push_back(' ');
  header.push_back('\n');
  std::string bytes = "\x93NUMPY";
  bytes.push_back(static_cast<char>(major));
  bytes.push_back(0);
  for (size_t i = 0; i < prefix - 8; ++i) {
    bytes.push_back(static_cast<char>(header.size() >> (8 * i)));
  }
  return bytes + header + data;
}

}  // namespace cairn::testing
