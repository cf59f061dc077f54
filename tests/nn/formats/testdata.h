#ifndef CAIRN_TESTS_NN_FORMATS_TESTDATA_H_
#define CAIRN_TESTS_NN_FORMATS_TESTDATA_H_

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace cairn::nn {

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  std::ostringstream contents;
  contents << file.rdbuf();
  return contents.str();
}

// An architecture as written by this version of Keras.
inline std::string Testdata(const std::string& name) {
  return ReadFile("tests/nn/formats/testdata/" + name);
}

}  // namespace cairn::nn

#endif  // CAIRN_TESTS_NN_FORMATS_TESTDATA_H_
