// What nvcc says of the kernels: nothing is spilled to memory, and a block fits
// on every GPU. Prints a table of the kernels.

#include <cxxabi.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <utility>
#include <vector>

namespace {

// 65,536 registers for the 256 threads of a block.
constexpr int kRegistersMax = 255;
// What a block may have on every GPU without asking for more.
constexpr int kSharedBytesMax = 48 << 10;

// The largest of all architectures.
struct Usage {
  int registers = 0;
  int shared_bytes = 0;
  int stack_bytes = 0;
};

std::vector<std::string> Reports() {
  std::vector<std::string> reports;
  if (!std::filesystem::exists("nn/cuda")) return reports;
  for (const auto &file : std::filesystem::directory_iterator("nn/cuda")) {
    const std::string path = file.path().string();
    if (path.ends_with(".ptxas.txt")) reports.push_back(path);
  }
  return reports;
}

// The number before `unit` in a line of a report; 0 if there is none.
int NumberBefore(const std::string &unit, const std::string &line) {
  std::smatch match;
  return std::regex_search(line, match, std::regex("(\\d+) " + unit)) ? std::stoi(match[1]) : 0;
}

// "ForEachKernel of Unfold<4>" for the instance of a loop with a lambda of that
// function.
std::string ShortName(const std::string &mangled) {
  int status = 0;
  char *const demangled = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  if (status != 0) return mangled;
  std::string name = demangled;
  std::free(demangled);
  for (const char *part : {"^void ", "cairn::nn::(cuda::)?", "\\(anonymous namespace\\)::"}) {
    name = std::regex_replace(name, std::regex(part), "");
  }
  std::smatch match;
  if (std::regex_search(name, match, std::regex("^(\\w+)<([\\d, ]*)([\\w:<>]+?)\\("))) {
    return match[1].str() + " of " + match[3].str();
  }
  return name.substr(0, name.find('('));
}

// By source and kernel. Fails for what is spilled.
std::map<std::pair<std::string, std::string>, Usage> ReadReports(
    const std::vector<std::string> &paths) {
  std::map<std::pair<std::string, std::string>, Usage> usages;
  const std::regex entry("Compiling entry function '(\\w+)'");
  for (const std::string &path : paths) {
    const std::string source = std::filesystem::path(path).stem().stem().string();
    std::ifstream file(path);
    std::string kernel;
    for (std::string line; std::getline(file, line);) {
      std::smatch match;
      if (std::regex_search(line, match, entry)) kernel = ShortName(match[1]);
      EXPECT_EQ(NumberBefore("bytes spill stores", line), 0) << source << ", " << kernel;
      EXPECT_EQ(NumberBefore("bytes spill loads", line), 0) << source << ", " << kernel;
      if (kernel.empty()) continue;
      Usage &usage = usages[{source, kernel}];
      usage.registers = std::max(usage.registers, NumberBefore("registers", line));
      usage.shared_bytes = std::max(usage.shared_bytes, NumberBefore("bytes smem", line));
      usage.stack_bytes = std::max(usage.stack_bytes, NumberBefore("bytes stack frame", line));
    }
  }
  return usages;
}

TEST(CudaRegistersTest, NoKernelSpillsRegistersAndBlocksFit) {
  const std::vector<std::string> reports = Reports();
  if (reports.empty()) GTEST_SKIP() << "no CUDA toolkit: run deploy/install_cuda.sh";
  const auto usages = ReadReports(reports);
  EXPECT_GT(usages.size(), 0);
  std::printf("registers  shared  stack  kernel\n");
  for (const auto &[kernel, usage] : usages) {
    const auto &[source, name] = kernel;
    std::printf("%9d %7d %6d  %s: %s\n", usage.registers, usage.shared_bytes, usage.stack_bytes,
                source.c_str(), name.c_str());
    EXPECT_GT(usage.registers, 0) << source << ", " << name << ": not in the report";
    EXPECT_LT(usage.registers, kRegistersMax) << source << ", " << name;
    EXPECT_LE(usage.shared_bytes, kSharedBytesMax) << source << ", " << name;
  }
}

}  // namespace
