// CSV files: the records do not depend on the blocks in which the file is read.

#include <string>
#include <vector>

#include "common/check.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/memory_file.h"
#include "worker/data/csv/csv_blocks.h"
#include "worker/data/csv/csv_scan.h"

namespace cairn::fuzz {
namespace {

struct Parsed {
  bool ok = true;
  bool unclosed = false;  // The last line has a quote that is not closed.
  std::vector<std::string> fields;
};

Parsed Parse(const std::string& path, size_t block_bytes) {
  Parsed parsed;
  auto reader = worker::FileReader::Open(path);
  CAIRN_CHECK(reader.ok());
  worker::CsvBlocks blocks(*std::move(reader), block_bytes);
  const auto visit = [&parsed](int, const worker::CsvRecord& record) {
    for (const std::string_view field : record.fields) parsed.fields.emplace_back(field);
    parsed.fields.push_back(std::to_string(record.line));
    if (record.unclosed) parsed.fields.emplace_back("unclosed");
    parsed.unclosed |= record.unclosed;
    return absl::OkStatus();
  };
  const auto take = [](int) { return absl::OkStatus(); };
  parsed.ok = worker::CsvScan(&blocks, ',', /*threads=*/1).Run(visit, take).ok();
  return parsed;
}

}  // namespace

bool RunInput(std::string_view input) {
  // Inputs that are not text: empty ones and gzip.
  if (input.empty() || input.substr(0, 2) == "\x1f\x8b") return false;
  const MemoryFile file(input);
  const Parsed whole = Parse(file.path(), input.size() + 1);
  for (const size_t block : {size_t{1}, size_t{3}, size_t{16}}) {
    const Parsed blocks = Parse(file.path(), block);
    CAIRN_CHECK(blocks.ok == whole.ok && blocks.fields == whole.fields);
  }
  return whole.ok && !whole.unclosed;
}

}  // namespace cairn::fuzz
