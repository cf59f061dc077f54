#include "tests/benchmarks/result_row.h"

#include <algorithm>
#include <cstdio>

#include "nlohmann/json.hpp"

namespace cairn::benchmarks {

void PrintRow(const ResultRow& row) {
  nlohmann::ordered_json line = {{"name", row.name}, {"value", row.value}, {"unit", row.unit}};
  if (!row.peer.empty()) {
    line["peer"] = row.peer;
    line["peer_value"] = row.peer_value;
    line["ratio"] = row.ratio;
  }
  if (row.at_least.has_value()) line["at_least"] = *row.at_least;
  if (row.at_most.has_value()) line["at_most"] = *row.at_most;
  if (!row.note.empty()) line["note"] = row.note;
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace cairn::benchmarks
