#ifndef CAIRN_TESTS_BENCHMARKS_RESULT_ROW_H_
#define CAIRN_TESTS_BENCHMARKS_RESULT_ROW_H_

#include <optional>
#include <string>
#include <vector>

namespace cairn::benchmarks {

// One measurement, in the format of results.py: a line of JSON on standard output.
struct ResultRow {
  std::string name;
  double value = 0;
  std::string unit;
  // The peer measured in the same run, in the same unit; empty: none.
  std::string peer;
  double peer_value = 0;
  // value / peer_value; with several rounds, the median of their ratios.
  double ratio = 0;
  // The target: of the ratio if there is a peer, else of the value.
  std::optional<double> at_least;
  std::optional<double> at_most;
  std::string note;
};

void PrintRow(const ResultRow& row);

// `values` must not be empty.
double Median(std::vector<double> values);

}  // namespace cairn::benchmarks

#endif  // CAIRN_TESTS_BENCHMARKS_RESULT_ROW_H_
