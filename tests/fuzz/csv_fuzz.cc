// CSV: the records are the same in whatever pieces the bytes arrive.

#include <string>
#include <vector>

#include "common/check.h"
#include "tests/fuzz/fuzz_target.h"
#include "worker/data/csv/csv_parser.h"

namespace cairn::fuzz {
namespace {

struct Parsed {
  bool ok = true;
  std::vector<std::string> fields;
};

Parsed Parse(std::string_view input, size_t piece) {
  Parsed parsed;
  worker::CsvParser parser(',');
  bool last = false;
  while (parsed.ok && !last) {
    last = input.size() <= piece;
    const absl::Status status =
        parser.Parse(input.substr(0, piece), last, [&parsed](const worker::CsvRecord& record) {
          for (const std::string_view field : record.fields) parsed.fields.emplace_back(field);
          parsed.fields.push_back(std::to_string(record.line));
          return absl::OkStatus();
        });
    input.remove_prefix(last ? input.size() : piece);
    parsed.ok = status.ok();
  }
  return parsed;
}

}  // namespace

bool RunInput(std::string_view input) {
  const Parsed whole = Parse(input, input.size());
  for (const size_t piece : {size_t{1}, size_t{3}, size_t{16}}) {
    const Parsed pieces = Parse(input, piece);
    CAIRN_CHECK(pieces.ok == whole.ok && pieces.fields == whole.fields);
  }
  return whole.ok;
}

}  // namespace cairn::fuzz
