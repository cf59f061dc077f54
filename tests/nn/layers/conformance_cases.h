#ifndef CAIRN_TESTS_NN_LAYERS_CONFORMANCE_CASES_H_
#define CAIRN_TESTS_NN_LAYERS_CONFORMANCE_CASES_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "tests/nn/test_model.h"

namespace cairn::nn::testing {

// A model for the conformance suite. Ids in its inputs are 0 to 3.
struct ConformanceCase {
  std::string name;
  std::vector<TestLayer> layers;
  int64_t batch_size = 3;
};

inline void PrintTo(const ConformanceCase& c, std::ostream* out) { *out << c.name; }

// A layer between two Dense layers, so that gradients flow through it. `shape` is the input's. The
// first Dense layer has 4 units.
ConformanceCase Between(const std::string& name, const std::string& shape, const TestLayer& layer);

// The families of cases, each in its own source file.
std::vector<ConformanceCase> BasicCases();
std::vector<ConformanceCase> WindowCases();
std::vector<ConformanceCase> ElementCases();
std::vector<ConformanceCase> FusedCases();
std::vector<ConformanceCase> SequenceCases();

std::vector<ConformanceCase> AllConformanceCases();

}  // namespace cairn::nn::testing

#endif  // CAIRN_TESTS_NN_LAYERS_CONFORMANCE_CASES_H_
