#include "worker/data/csv/csv_file.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/nearest_name.h"
#include "common/plural.h"
#include "common/status_macros.h"
#include "worker/data/csv/csv_blocks.h"
#include "worker/data/csv/csv_value.h"
#include "worker/data/files/file_reader.h"

namespace cairn::worker {
namespace {

// The most names that a message lists.
constexpr size_t kNamesShown = 20;
// Delimiters to suggest, the most frequent first.
constexpr char kDelimiters[] = {',', ';', '\t', '|'};
// The CsvProblems column of problems of whole records.
constexpr int kRecords = -1;

char DelimiterOf(const proto::CsvSource& source) {
  return source.has_delimiter() ? source.delimiter()[0] : ',';
}

bool HasHeader(const proto::CsvSource& source) { return !source.has_header() || source.header(); }

// As CsvScan::Run.
absl::Status ReadRecords(const std::string& path, char delimiter, const CsvSplit& split,
                         CsvScan::Visit visit, CsvScan::Take take) {
  CAIRN_ASSIGN_OR_RETURN(std::unique_ptr<FileReader> reader, FileReader::Open(path));
  CsvBlocks blocks(std::move(reader), split.block_bytes);
  return CsvScan(&blocks, delimiter, split.threads).Run(visit, take);
}

absl::Status Ignore(int) { return absl::OkStatus(); }

// The names of the columns, from the first record.
absl::StatusOr<std::vector<std::string>> NamesOf(const CsvRecord& first, bool header) {
  if (first.unclosed) {
    return absl::InvalidArgumentError(absl::StrCat("line ", first.line, ", field ",
                                                   first.fields.size() + 1,
                                                   ": a quote is opened and not closed"));
  }
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const std::string_view field : first.fields) {
    names.push_back(header ? std::string(field) : absl::StrCat(names.size()));
    if (seen.insert(names.back()).second) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "line ", first.line, ": two columns are called ", QuotedField(field),
        "; if this is not a header, set \"header\": false, and the columns are called 0, 1 ..."));
  }
  return names;
}

// Ends a read that has seen enough.
absl::Status Enough() { return absl::CancelledError(); }

// Errors as CsvScan::Run and NamesOf.
absl::StatusOr<std::vector<std::string>> ReadNames(const std::string& path, char delimiter,
                                                   bool header) {
  std::vector<std::string> names;
  const auto read_names = [&](int, const CsvRecord& record) -> absl::Status {
    CAIRN_ASSIGN_OR_RETURN(names, NamesOf(record, header));
    return Enough();
  };
  const absl::Status status = ReadRecords(path, delimiter, CsvSplit(), read_names, Ignore);
  if (status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("data file ", path, ": it has only empty lines"));
  }
  if (!absl::IsCancelled(status)) return status;
  return names;
}

// The positions of the wanted columns; -1 for a missing one.
std::vector<int> PositionsOf(const std::vector<std::string>& wanted,
                             const std::vector<std::string>& names) {
  std::vector<int> positions;
  for (const std::string& name : wanted) {
    const auto at = std::find(names.begin(), names.end(), name);
    positions.push_back(at == names.end() ? -1 : static_cast<int>(at - names.begin()));
  }
  return positions;
}

int64_t CountMissing(const std::vector<int>& positions) {
  return std::count(positions.begin(), positions.end(), -1);
}

// "; the delimiter seems to be ..." if another delimiter finds more of the wanted columns.
std::string DelimiterHint(const std::string& path, const proto::CsvSource& source,
                          const std::vector<std::string>& wanted, int64_t missing) {
  char best = '\0';
  for (const char delimiter : kDelimiters) {
    if (delimiter == DelimiterOf(source)) continue;
    const auto names = ReadNames(path, delimiter, HasHeader(source));
    if (!names.ok()) continue;
    const int64_t still_missing = CountMissing(PositionsOf(wanted, *names));
    if (still_missing >= missing) continue;
    missing = still_missing;
    best = delimiter;
  }
  if (best == '\0') return "";
  const std::string sign = best == '\t' ? "\\t" : std::string(1, best);
  return absl::StrCat("; the delimiter seems to be ", best == '\t' ? "a tab" : "",
                      best == '\t' ? "" : absl::StrCat("\"", sign, "\""), ": set \"delimiter\": \"",
                      sign, "\"");
}

// True if most of the names are numbers, which are probably not names.
bool AreNumbers(const std::vector<std::string>& names) {
  const auto numbers = std::count_if(names.begin(), names.end(), [](const std::string& name) {
    return ParseNumber(name).has_value();
  });
  return 2 * numbers > static_cast<int64_t>(names.size());
}

// Lists the missing columns and those of the file.
std::string MissingText(const std::vector<std::string>& wanted, const std::vector<int>& positions,
                        const std::vector<std::string>& names, bool header) {
  std::vector<std::string> missing;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (positions[i] >= 0) continue;
    missing.push_back(absl::StrCat("\"", wanted[i], "\"", DidYouMean(wanted[i], names)));
  }
  std::vector<std::string> there;
  for (size_t i = 0; i < std::min(names.size(), kNamesShown); ++i) {
    there.push_back(QuotedField(names[i]));
  }
  const size_t more = missing.size() - std::min(missing.size(), kNamesShown);
  missing.resize(missing.size() - more);
  return absl::StrCat("it has no column", missing.size() == 1 ? " " : "s ",
                      absl::StrJoin(missing, ", "),
                      more > 0 ? absl::StrCat(" and ", more, " more") : "", "; it has ",
                      absl::StrJoin(there, ", "), names.size() > kNamesShown ? " ..." : "",
                      header && AreNumbers(names)
                          ? "; if the first line is not a header, set \"header\": false, and the "
                            "columns are called 0, 1 ..."
                          : "");
}

absl::Status AtLine(int64_t line, const absl::Status& status) {
  if (!absl::IsInvalidArgument(status)) return status;
  return absl::InvalidArgumentError(absl::StrCat("line ", line, ", ", status.message()));
}

absl::Status InFile(const std::string& path, const std::string& text) {
  return absl::InvalidArgumentError(absl::StrCat("data file ", path, ": ", text));
}

CsvReason WrongFieldCount(size_t columns) {
  return {.column = "",
          .is = absl::StrCat("where the first line has ", columns),
          .are = absl::StrCat("have another number of fields than the first line's ", columns),
          .advice = "is the delimiter another, or a quote missing?"};
}

CsvReason UnclosedQuote() {
  return {.column = "",
          .is = "a quote is opened and not closed",
          .are = "have a quote that is opened and not closed",
          .advice = "is the file cut off?"};
}

// Reads the rows of a file like ReadCsvBlocks. Adds problems of single rows and missing columns to
// `problems`. Returns only errors that end the reading.
class RowReader {
 public:
  RowReader(const std::string& path, const proto::CsvSource& source,
            const std::vector<std::string>& columns, CsvProblems* problems)
      : path_(path), source_(source), columns_(columns), problems_(*problems) {}

  // The rows with problems, after Run.
  const std::vector<int64_t>& places() const { return places_; }

  absl::Status Run(const CsvSplit& split, VisitCsvRowInSlot visit, CsvScan::Take take) {
    slots_.resize(CsvScan::SlotsOf(split.threads));
    rows_.resize(slots_.size());
    const auto visit_row = [&](int slot, const CsvRecord& record) -> absl::Status {
      if (record.unclosed) {
        slots_[slot].Add(kRecords, 1, record.line,
                         absl::StrCat("field ", record.fields.size() + 1, ":"), &UnclosedQuote);
        return absl::OkStatus();
      }
      if (record.fields.size() != names_.size()) {
        slots_[slot].Add(kRecords, 0, record.line,
                         Plural(static_cast<int64_t>(record.fields.size()), "field"),
                         [this] { return WrongFieldCount(names_.size()); });
        return absl::OkStatus();
      }
      return AtLine(record.line, visit(slot, {&record, &positions_}, &slots_[slot]));
    };
    const auto visit_record = [&](int slot, const CsvRecord& record) -> absl::Status {
      if (names_.empty()) {
        CAIRN_RETURN_IF_ERROR(ReadHead(record));
        if (HasHeader(source_)) return absl::OkStatus();
      }
      const int64_t before = slots_[slot].lines();
      const absl::Status status = visit_row(slot, record);
      BlockRows& rows = rows_[slot];
      if (slots_[slot].lines() > before) rows.places.push_back(rows.count);
      ++rows.count;
      return status;
    };
    const auto take_block = [&](int slot) {
      problems_.Append(&slots_[slot]);
      BlockRows rows = std::exchange(rows_[slot], {});
      for (const int64_t place : rows.places) places_.push_back(count_ + place);
      count_ += rows.count;
      return take(slot);
    };
    const absl::Status status =
        ReadRecords(path_, DelimiterOf(source_), split, visit_record, take_block);
    if (!absl::IsInvalidArgument(status) || !names_.empty()) return status;
    // The wrong delimiter can make a quote invalid.
    return absl::InvalidArgumentError(absl::StrCat(
        status.message(),
        DelimiterHint(path_, source_, columns_, static_cast<int64_t>(columns_.size()))));
  }

 private:
  absl::Status ReadHead(const CsvRecord& first) {
    CAIRN_ASSIGN_OR_RETURN(names_, NamesOf(first, HasHeader(source_)));
    positions_ = PositionsOf(columns_, names_);
    const int64_t missing = CountMissing(positions_);
    if (missing == 0) return absl::OkStatus();
    const std::string text = MissingText(columns_, positions_, names_, HasHeader(source_));
    const std::string hint = DelimiterHint(path_, source_, columns_, missing);
    const bool has_none = missing == static_cast<int64_t>(columns_.size());
    if (has_none || !hint.empty()) return absl::InvalidArgumentError(text + hint);
    problems_.AddText(text);
    return absl::OkStatus();
  }

  const std::string& path_;
  const proto::CsvSource& source_;
  const std::vector<std::string>& columns_;
  CsvProblems& problems_;
  // From the first record, which is visited before all others.
  std::vector<std::string> names_;
  std::vector<int> positions_;
  std::vector<CsvProblems> slots_;  // Of blocks that have not been taken.
  struct BlockRows {
    int64_t count = 0;
    std::vector<int64_t> places;  // Of the rows with problems, in the block.
  };
  std::vector<BlockRows> rows_;  // By slot, as slots_.
  int64_t count_ = 0;            // Of the rows of blocks that have been taken.
  std::vector<int64_t> places_;
};

}  // namespace

absl::StatusOr<std::vector<std::string>> ReadCsvColumns(const std::string& path,
                                                        const proto::CsvSource& source) {
  std::vector<std::string> wanted;
  if (source.features().empty()) {
    for (const proto::CsvColumn& label : source.labels()) wanted.push_back(label.name());
  }
  auto names = ReadNames(path, DelimiterOf(source), HasHeader(source));
  if (!names.ok()) {
    if (!absl::IsInvalidArgument(names.status())) return names;
    return absl::InvalidArgumentError(
        absl::StrCat(names.status().message(),
                     DelimiterHint(path, source, wanted, static_cast<int64_t>(wanted.size()))));
  }
  const std::vector<int> positions = PositionsOf(wanted, *names);
  const int64_t missing = CountMissing(positions);
  if (missing == 0) return names;
  return InFile(path, MissingText(wanted, positions, *names, HasHeader(source)) +
                          DelimiterHint(path, source, wanted, missing));
}

absl::Status ReadCsvRows(const std::string& path, const proto::CsvSource& source,
                         const std::vector<std::string>& columns, VisitCsvRow visit) {
  CsvProblems problems;
  RowReader reader(path, source, columns, &problems);
  return reader.Run(
      CsvSplit(), [&](int, const CsvRow& row, CsvProblems*) { return visit(row); }, Ignore);
}

absl::Status ReadCsvBlocks(const std::string& path, const proto::CsvSource& source,
                           const std::vector<std::string>& columns, const CsvSplit& split,
                           VisitCsvRowInSlot visit, CsvScan::Take take, CsvDamage* damage) {
  CsvProblems problems;
  RowReader reader(path, source, columns, &problems);
  const absl::Status status = reader.Run(split, visit, take);
  if (problems.empty() || (!status.ok() && !absl::IsInvalidArgument(status))) return status;
  if (status.ok() && damage != nullptr && problems.only_lines()) {
    *damage = {problems.lines(), std::string(InFile(path, problems.FirstText()).message()),
               std::string(InFile(path, problems.Text()).message()), reader.places()};
    return status;
  }
  if (!status.ok()) {
    absl::string_view end = status.message();
    absl::ConsumePrefix(&end, InFile(path, "").message());
    problems.AddEnd(std::string(end));
  }
  return InFile(path, problems.Text());
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
