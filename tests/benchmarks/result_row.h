#ifndef CAIRN_TESTS_BENCHMARKS_RESULT_ROW_H_
#define CAIRN_TESTS_BENCHMARKS_RESULT_ROW_H_

#include <optional>
#include <string>
#include <vector>

namespace cairn::benchmarks {

// One measured number, as results.py reads it: a line of JSON on standard output.
struct ResultRow {
  std::string name;
  double value = 0;
  std::string unit;
  // What was measured beside it in the same run, in the same unit; empty: nothing.
  std::string peer;
  double peer_value = 0;
  // value / peer_value; of several rounds the median of theirs.
  double ratio = 0;
  // What the project wants: of the ratio where there is a peer, else of the value.
  std::optional<double> at_least;
  std::string note;
};

void PrintRow(const ResultRow& row);

// `values` is not empty.
double Median(std::vector<double> values);

}  // namespace cairn::benchmarks

#endif  // CAIRN_TESTS_BENCHMARKS_RESULT_ROW_H_
