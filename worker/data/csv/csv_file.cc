#include "worker/data/csv/csv_file.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/nearest_name.h"
#include "common/status_macros.h"
#include "worker/data/csv/csv_blocks.h"
#include "worker/data/csv/csv_value.h"
#include "worker/data/files/file_reader.h"

namespace cairn::worker {
namespace {

// How many names a message lists.
constexpr size_t kNamesShown = 20;

char DelimiterOf(const proto::CsvSource& source) {
  return source.has_delimiter() ? source.delimiter()[0] : ',';
}

bool HasHeader(const proto::CsvSource& source) { return !source.has_header() || source.header(); }

// As CsvScan::Run.
absl::Status ReadRecords(const std::string& path, const proto::CsvSource& source,
                         const CsvSplit& split, CsvScan::Visit visit, CsvScan::Take take) {
  CAIRN_ASSIGN_OR_RETURN(std::unique_ptr<FileReader> reader, FileReader::Open(path));
  CsvBlocks blocks(std::move(reader), split.block_bytes);
  return CsvScan(&blocks, DelimiterOf(source), split.threads).Run(visit, take);
}

absl::Status Ignore(int) { return absl::OkStatus(); }

// What the first record says the columns are called.
absl::StatusOr<std::vector<std::string>> NamesOf(const CsvRecord& first, bool header) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const std::string_view field : first.fields) {
    names.push_back(header ? std::string(field) : absl::StrCat(names.size()));
    if (seen.insert(names.back()).second) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "line ", first.line, ": two columns are called ", QuotedField(field),
        "; if this is no header, say \"header\": false, and the columns are called 0, 1 ..."));
  }
  return names;
}

absl::StatusOr<std::vector<int>> Find(const std::vector<std::string>& wanted,
                                      const std::vector<std::string>& names) {
  std::vector<int> positions;
  for (const std::string& name : wanted) {
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) {
      std::vector<std::string> shown;
      for (size_t i = 0; i < std::min(names.size(), kNamesShown); ++i) {
        shown.push_back(QuotedField(names[i]));
      }
      return absl::InvalidArgumentError(
          absl::StrCat("it has no column \"", name, "\"", DidYouMean(name, names), "; it has ",
                       absl::StrJoin(shown, ", "), names.size() > kNamesShown ? " ..." : ""));
    }
    positions.push_back(static_cast<int>(at - names.begin()));
  }
  return positions;
}

absl::Status AtLine(int64_t line, const absl::Status& status) {
  if (!absl::IsInvalidArgument(status)) return status;
  return absl::InvalidArgumentError(absl::StrCat("line ", line, ", ", status.message()));
}

// Ends a read that has seen enough.
absl::Status Enough() { return absl::CancelledError(); }

}  // namespace

absl::StatusOr<std::vector<std::string>> ReadCsvColumns(const std::string& path,
                                                        const proto::CsvSource& source) {
  std::vector<std::string> names;
  const auto read_names = [&](int, const CsvRecord& record) -> absl::Status {
    CAIRN_ASSIGN_OR_RETURN(names, NamesOf(record, HasHeader(source)));
    return Enough();
  };
  const absl::Status status = ReadRecords(path, source, CsvSplit(), read_names, Ignore);
  if (status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("data file ", path, ": it has only empty lines"));
  }
  if (!absl::IsCancelled(status)) return status;
  return names;
}

absl::Status ReadCsvRows(const std::string& path, const proto::CsvSource& source,
                         const std::vector<std::string>& columns, VisitCsvRow visit) {
  return ReadCsvBlocks(
      path, source, columns, CsvSplit(), [&](int, const CsvRow& row) { return visit(row); },
      Ignore);
}

absl::Status ReadCsvBlocks(const std::string& path, const proto::CsvSource& source,
                           const std::vector<std::string>& columns, const CsvSplit& split,
                           VisitCsvRowInSlot visit, CsvScan::Take take) {
  // Of the first record, which is visited before all others.
  std::vector<std::string> names;
  std::vector<int> positions;
  const auto visit_record = [&](int slot, const CsvRecord& record) -> absl::Status {
    if (names.empty()) {
      CAIRN_ASSIGN_OR_RETURN(names, NamesOf(record, HasHeader(source)));
      CAIRN_ASSIGN_OR_RETURN(positions, Find(columns, names));
      if (HasHeader(source)) return absl::OkStatus();
    }
    if (record.fields.size() != names.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "line ", record.line, ": ", record.fields.size(), " fields, the first line has ",
          names.size(), "; is the delimiter another, or a quote missing?"));
    }
    return AtLine(record.line, visit(slot, {&record, &positions}));
  };
  return ReadRecords(path, source, split, visit_record, take);
}

absl::Status BadField(const std::string& column, std::string_view field, std::string_view reason) {
  return absl::InvalidArgumentError(
      absl::StrCat("column \"", column, "\": ", QuotedField(field), " ", std::string(reason)));
}

bool IsMissing(std::string_view field, const proto::CsvSource& source) {
  if (field.empty()) return true;
  return std::find(source.missing().begin(), source.missing().end(), field) !=
         source.missing().end();
}

}  // namespace cairn::worker
