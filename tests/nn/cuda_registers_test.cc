// What nvcc says of the kernels: nothing is spilled to memory, and a block fits on every GPU.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

namespace {

// 65,536 registers for the 256 threads of a block.
constexpr int kRegistersMax = 255;

std::vector<std::string> Reports() {
  std::vector<std::string> reports;
  if (!std::filesystem::exists("nn/cuda")) return reports;
  for (const auto& file : std::filesystem::directory_iterator("nn/cuda")) {
    const std::string path = file.path().string();
    if (path.ends_with(".ptxas.txt")) reports.push_back(path);
  }
  return reports;
}

TEST(CudaRegistersTest, NoKernelSpillsRegisters) {
  const std::vector<std::string> reports = Reports();
  if (reports.empty()) GTEST_SKIP() << "no CUDA toolkit: run deploy/install_cuda.sh";
  const std::regex spilled(R"((\d+) bytes spill stores, (\d+) bytes spill loads)");
  const std::regex used(R"(Used (\d+) registers)");
  int kernels = 0;
  std::map<std::string, int> largest;
  for (const std::string& path : reports) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      std::smatch match;
      if (std::regex_search(line, match, spilled)) {
        EXPECT_EQ(match[1], "0") << path << ": " << line;
        EXPECT_EQ(match[2], "0") << path << ": " << line;
      } else if (std::regex_search(line, match, used)) {
        ++kernels;
        largest[path] = std::max(largest[path], std::stoi(match[1]));
      }
    }
  }
  EXPECT_GT(kernels, 0);
  for (const auto& [path, registers] : largest) {
    EXPECT_LT(registers, kRegistersMax) << path;
    std::printf("%4d registers at most in %s\n", registers, path.c_str());
  }
}

}  // namespace
