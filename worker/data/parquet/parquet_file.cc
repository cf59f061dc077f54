#include "worker/data/parquet/parquet_file.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/printable.h"
#include "common/status_macros.h"
#include "worker/data/files/file_reader.h"

namespace cairn::worker {
namespace {

// Row groups are joined to parts of this size, because each part is read by a query of its own.
constexpr int64_t kPartRowsMin = 32768;
// The most rows of a file. Far more than any has, and far from an overflow of sums.
constexpr int64_t kRowsMax = int64_t{1} << 48;
// The most columns that a message lists.
constexpr size_t kNamesShown = 20;
// What DuckDB calls the number of a row in its file.
constexpr char kRowNumber[] = "file_row_number";
// The most digits of a decimal that DuckDB reads rightly.
constexpr int64_t kDigitsMax = 38;
// The value of a folder that means null.
constexpr char kNullFolder[] = "__HIVE_DEFAULT_PARTITION__";

// Whether DuckDB has its own column of this name beside those of any file. A file may have one,
// too.
bool IsNameOfDuckdb(const std::string& name) {
  const std::string lower = absl::AsciiStrToLower(name);
  return lower == kRowNumber || lower == "filename" || lower == "file_index" || lower == "rowid";
}

bool IsText(DuckdbType type) { return type == DuckdbType::kVarchar || type == DuckdbType::kBlob; }

bool IsWhole(DuckdbType type) {
  return type >= DuckdbType::kBoolean && type <= DuckdbType::kUinteger;
}

template <typename T>
T Load(const void* data, uint64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + index * sizeof value, sizeof value);
  return value;
}

int64_t LoadWhole(DuckdbType type, const void* data, uint64_t index) {
  switch (type) {
    case DuckdbType::kBoolean:
    case DuckdbType::kUtinyint:
      return Load<uint8_t>(data, index);
    case DuckdbType::kTinyint:
      return Load<int8_t>(data, index);
    case DuckdbType::kSmallint:
      return Load<int16_t>(data, index);
    case DuckdbType::kUsmallint:
      return Load<uint16_t>(data, index);
    case DuckdbType::kInteger:
      return Load<int32_t>(data, index);
    case DuckdbType::kUinteger:
      return Load<uint32_t>(data, index);
    default:
      return Load<int64_t>(data, index);
  }
}

// Values that are read as they are in the file. Others are converted by DuckDB.
bool IsReadAsItIs(const FeatureEncoder::Wanted& wanted, DuckdbType type) {
  if (IsText(type) || type == DuckdbType::kFloat) return true;
  return !wanted.is_names && (IsWhole(type) || type == DuckdbType::kDouble);
}

// Numbers of more digits than a double are no values of a model.
bool IsOtherNumber(DuckdbType type) {
  return type == DuckdbType::kUbigint || type == DuckdbType::kDouble ||
         type == DuckdbType::kHugeint || type == DuckdbType::kDecimal;
}

// The type of lists of `type`, as deep as the column's.
std::string ListsOf(const char* type, int lists) {
  std::string result = type;
  for (int i = 0; i < lists; ++i) result += "[]";
  return result;
}

// %41 stands for A.
std::string Unescaped(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](size_t at) {
      return at < text.size() && absl::ascii_isxdigit(static_cast<unsigned char>(text[at]));
    };
    if (text[i] == '%' && digit(i + 1) && digit(i + 2)) {
      result += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

// Collects the values of one column of a row.
class RowReader {
 public:
  RowReader(const FeatureEncoder::Wanted& wanted, DuckdbColumn column)
      : wanted_(wanted), column_(std::move(column)) {}

  // InvalidArgument: null lists in a list, or lists of different lengths.
  absl::Status Read(const DuckdbVector& vector, uint64_t row, FeatureValues* values) {
    values->count = 0;
    values->bytes.clear();
    values->floats.clear();
    values->ints.clear();
    values->doubles.clear();
    values->nulls.clear();
    values->kind = FeatureValues::Kind::kMissing;
    if (vector.is_null(row)) return absl::OkStatus();
    values->kind = KindOf(column_.type);
    lengths_.assign(column_.lists, kNoLength);
    return Add(vector, row, 0, values);
  }

 private:
  static constexpr uint64_t kNoLength = UINT64_MAX;

  static FeatureValues::Kind KindOf(DuckdbType type) {
    if (IsText(type)) return FeatureValues::Kind::kBytes;
    if (type == DuckdbType::kFloat) return FeatureValues::Kind::kFloats;
    return type == DuckdbType::kDouble ? FeatureValues::Kind::kDoubles : FeatureValues::Kind::kInts;
  }

  absl::Status Wrong(const std::string& what) const {
    return absl::InvalidArgumentError(
        absl::StrCat("column \"", PrintableLine(wanted_.name), "\" has ", what));
  }

  absl::Status Add(const DuckdbVector& vector, uint64_t row, int depth, FeatureValues* values) {
    const bool is_null = vector.is_null(row);
    if (depth < column_.lists) {
      if (is_null) {
        return Wrong("a null in place of a list in a list; replace it when you write the file");
      }
      const auto entry = Load<DuckdbVector::Entry>(vector.data, row);
      // The outermost list may have any length; FeatureEncoder checks the number of values.
      if (depth > 0) {
        const uint64_t last = std::exchange(lengths_[depth], entry.length);
        if (last != kNoLength && last != entry.length) {
          return Wrong("lists of different lengths in a list");
        }
        const auto& shape = wanted_.shape;
        if (static_cast<int>(shape.size()) == column_.lists &&
            static_cast<int64_t>(entry.length) != shape[depth]) {
          return Wrong(absl::StrCat("a list of ", entry.length, " in a list, expected: shape ",
                                    nn::ShapeText(shape)));
        }
      }
      for (uint64_t i = 0; i < entry.length; ++i) {
        CAIRN_RETURN_IF_ERROR(Add(*vector.child, entry.offset + i, depth + 1, values));
      }
      return absl::OkStatus();
    }
    if (values->count++ >= wanted_.most) return absl::OkStatus();
    if (is_null) values->nulls.push_back(values->count - 1);
    switch (values->kind) {
      case FeatureValues::Kind::kBytes:
        values->bytes.push_back(is_null ? std::string_view() : DuckdbBytes(vector, row));
        break;
      case FeatureValues::Kind::kFloats:
        values->floats.push_back(Load<float>(vector.data, row));
        break;
      case FeatureValues::Kind::kDoubles:
        values->doubles.push_back(Load<double>(vector.data, row));
        break;
      default:
        values->ints.push_back(LoadWhole(column_.type, vector.data, row));
    }
    return absl::OkStatus();
  }

  const FeatureEncoder::Wanted& wanted_;
  const DuckdbColumn column_;
  std::vector<uint64_t> lengths_;  // Of the last list at each depth.
};

}  // namespace

absl::StatusOr<std::unique_ptr<ParquetFile>> ParquetFile::Open(const std::string& path,
                                                               DuckdbPool* pool) {
  CAIRN_ASSIGN_OR_RETURN(std::unique_ptr<ParquetFile> file, OpenPlanned(path, pool));
  CAIRN_RETURN_IF_ERROR(file->ReadSchema());
  CAIRN_RETURN_IF_ERROR(file->ReadParts());
  return file;
}

absl::StatusOr<std::unique_ptr<ParquetFile>> ParquetFile::OpenPlanned(const std::string& path,
                                                                      DuckdbPool* pool) {
  CAIRN_ASSIGN_OR_RETURN(const int descriptor, OpenDataFile(path));
  CAIRN_ASSIGN_OR_RETURN(std::unique_ptr<Duckdb> duckdb, pool->Open(descriptor));
  std::unique_ptr<ParquetFile> file(new ParquetFile(path, std::move(duckdb)));
  file->AddFolders();
  return file;
}

absl::Status ParquetFile::Malformed(const std::string& reason) const {
  return absl::InvalidArgumentError(absl::StrCat("data file ", path_, ": ", reason));
}

absl::Status ParquetFile::Named(const absl::Status& status) const {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat("data file ", path_, ": ",
                                                  absl::StrReplaceAll(std::string(status.message()),
                                                                      {{duckdb_->file(), path_}})));
}

absl::Status ParquetFile::Query(const std::string& sql, const Duckdb::Columns& columns,
                                const Duckdb::Rows& rows) {
  return Named(duckdb_->Query(sql, columns, rows));
}

absl::Status ParquetFile::ReadColumns() {
  if (std::exchange(knows_columns_, true)) return absl::OkStatus();
  const absl::StatusOr<std::vector<DuckdbColumn>> columns =
      duckdb_->Describe(absl::StrCat("SELECT * FROM read_parquet(", SqlText(duckdb_->file()),
                                     ", hive_partitioning = false, file_row_number = true)"));
  CAIRN_RETURN_IF_ERROR(Named(columns.status()));
  for (const DuckdbColumn& column : *columns) {
    if (column.name == kRowNumber) continue;
    columns_[column.name] = {column.type, column.lists};  // Also if a folder has the name.
  }
  return absl::OkStatus();
}

absl::Status ParquetFile::ReadSchema() {
  std::vector<int64_t> open;  // The numbers of children that are to come, from the root down.
  std::string column;
  const auto add = [&](std::string_view name, int64_t children, int64_t digits) {
    const bool is_root = open.empty();
    if (open.size() == 1) {
      column = std::string(name);
      names_[absl::AsciiStrToLower(column)].push_back(column);
    }
    if (digits > kDigitsMax) large_decimals_[column] = digits;
    if (!open.empty()) --open.back();
    if (is_root || children > 0) open.push_back(children);
    // The root stays.
    while (open.size() > 1 && open.back() <= 0) open.pop_back();
  };
  const std::string sql = absl::StrCat(
      "SELECT name, coalesce(num_children, 0)::BIGINT, coalesce(precision, 0)::BIGINT ",
      "FROM parquet_schema(", SqlText(duckdb_->file()), ")");
  CAIRN_RETURN_IF_ERROR(
      Query(sql, nullptr, [&](const std::vector<DuckdbVector>& columns, uint64_t rows) {
        for (uint64_t i = 0; i < rows; ++i) {
          add(DuckdbBytes(columns[0], i), Load<int64_t>(columns[1].data, i),
              Load<int64_t>(columns[2].data, i));
        }
        return absl::OkStatus();
      }));
  if (!names_.contains(kRowNumber)) return absl::OkStatus();
  return Malformed(absl::StrCat("it has a column \"", kRowNumber,
                                "\", a name that DuckDB needs; rename it when you write the file"));
}

// For DuckDB names have no case: the second one of A and a is a_1.
absl::Status ParquetFile::CheckName(const std::string& name) const {
  const auto decimal = large_decimals_.find(name);
  if (decimal != large_decimals_.end()) {
    return Malformed(absl::StrCat("column \"", PrintableLine(name), "\" has decimals of ",
                                  decimal->second, " digits, and at most ", kDigitsMax,
                                  " are read; convert it when you write the file"));
  }
  const std::string lower = absl::AsciiStrToLower(name);
  // Without a number that DuckDB may have added.
  const size_t end = lower.find_last_not_of("0123456789");
  const bool is_numbered = end != std::string::npos && end + 1 < lower.size() && lower[end] == '_';
  for (const std::string& each : {lower, is_numbered ? lower.substr(0, end) : lower}) {
    const auto found = names_.find(each);
    if (found == names_.end() || found->second.size() < 2) continue;
    const std::vector<std::string>& columns = found->second;
    if (columns[0] == name && std::count(columns.begin(), columns.end(), name) == 1) continue;
    return Malformed(absl::StrCat(
        "column \"", PrintableLine(name), "\" cannot be told from others: it has ",
        PrintableLine(absl::StrJoin(columns, " and ")),
        ", and the case of names does not count; rename them when you write the file"));
  }
  return absl::OkStatus();
}

absl::Status ParquetFile::ReadParts() {
  int64_t part = 0;
  int64_t all = 0;
  CAIRN_RETURN_IF_ERROR(
      Query(absl::StrCat("SELECT row_group_num_rows::BIGINT FROM parquet_metadata(",
                         SqlText(duckdb_->file()),
                         ") GROUP BY row_group_id, row_group_num_rows ORDER BY row_group_id"),
            nullptr, [&](const std::vector<DuckdbVector>& columns, uint64_t rows) -> absl::Status {
              for (uint64_t i = 0; i < rows; ++i) {
                const auto group = Load<int64_t>(columns[0].data, i);
                if (group < 0 || group > kRowsMax - all) {
                  return absl::InvalidArgumentError(
                      absl::StrCat("its metadata has a row group of ", group, " rows"));
                }
                all += group;
                part += group;
                if (part < kPartRowsMin) continue;
                parts_.push_back(std::exchange(part, 0));
              }
              return absl::OkStatus();
            }));
  if (part > 0) parts_.push_back(part);
  return absl::OkStatus();
}

void ParquetFile::AddFolders() {
  std::vector<std::string> folders = absl::StrSplit(path_, '/');
  folders.pop_back();
  for (const std::string& folder : folders) {
    const size_t sign = folder.find('=');
    if (sign == std::string::npos || sign == 0) continue;
    Column column;
    column.is_folder = true;
    const std::string value = folder.substr(sign + 1);
    if (value != kNullFolder) column.value = Unescaped(value);
    columns_.emplace(Unescaped(folder.substr(0, sign)), std::move(column));
  }
}

absl::StatusOr<const ParquetFile::Column*> ParquetFile::Find(const std::string& name) const {
  CAIRN_RETURN_IF_ERROR(CheckName(name));
  const auto found = columns_.find(name);
  if (found != columns_.end()) return &found->second;
  std::vector<std::string> names;
  for (const auto& [each, column] : columns_) {
    if (names.size() < kNamesShown) names.push_back(PrintableLine(each));
  }
  const size_t more = columns_.size() - names.size();
  return Malformed(absl::StrCat("it has no column \"", PrintableLine(name), "\"; it has ",
                                absl::StrJoin(names, ", "),
                                more > 0 ? absl::StrCat(" and ", more, " more") : ""));
}

absl::StatusOr<std::string> ParquetFile::SqlOf(const job::RowFilter& filter) const {
  using Kind = job::RowFilter::Kind;
  if (filter.kind == Kind::kNot) {
    CAIRN_ASSIGN_OR_RETURN(const std::string term, SqlOf(filter.terms[0]));
    return absl::StrCat("(NOT ", term, ")");
  }
  if (filter.kind == Kind::kAnd || filter.kind == Kind::kOr) {
    std::vector<std::string> terms;
    for (const job::RowFilter& term : filter.terms) {
      CAIRN_ASSIGN_OR_RETURN(terms.emplace_back(), SqlOf(term));
    }
    return absl::StrCat("(", absl::StrJoin(terms, filter.kind == Kind::kAnd ? " AND " : " OR "),
                        ")");
  }
  CAIRN_ASSIGN_OR_RETURN(const Column* const column, Find(filter.column));
  std::string subject = SqlName(filter.column);
  if (column->is_folder) subject = column->value ? SqlText(*column->value) : "NULL::VARCHAR";
  if (filter.kind == Kind::kIsNull) return absl::StrCat("(", subject, " IS NULL)");
  std::vector<std::string> values;
  for (const job::RowFilter::Value& value : filter.values) {
    values.push_back(value.is_text ? SqlText(value.text) : value.text);
  }
  // The texts of folders may be numbers, or true and false.
  const auto has = [&filter](bool is_bool) {
    return std::any_of(filter.values.begin(), filter.values.end(), [&](const auto& value) {
      return !value.is_text && (value.text == "true" || value.text == "false") == is_bool;
    });
  };
  if (column->is_folder && has(/*is_bool=*/false)) {
    subject = absl::StrCat("TRY_CAST(", subject, " AS DOUBLE)");
  } else if (column->is_folder && has(/*is_bool=*/true)) {
    subject = absl::StrCat("TRY_CAST(", subject, " AS BOOLEAN)");
  }
  const bool is_in = filter.kind == Kind::kIn;
  const std::string term = is_in ? absl::StrCat(subject, " IN (", absl::StrJoin(values, ", "), ")")
                                 : absl::StrCat(subject, " ", filter.comparison, " ", values[0]);
  const bool may_be_nan =
      column->is_folder ? has(/*is_bool=*/false)
                        : column->type == DuckdbType::kFloat || column->type == DuckdbType::kDouble;
  if (!may_be_nan) return absl::StrCat("(", term, ")");
  // For DuckDB a NaN is the largest number, but the statistics of row groups do not count it.
  // Elsewhere it is not equal to any number, and all other comparisons with it are false.
  return !is_in && filter.comparison == "<>"
             ? absl::StrCat("(", term, " OR isnan(", subject, "))")
             : absl::StrCat("(", term, " AND NOT isnan(", subject, "))");
}

absl::StatusOr<std::string> ParquetFile::WhereOf(const Selection& selection) const {
  std::string where =
      absl::StrCat(" FROM read_parquet(", SqlText(duckdb_->file()),
                   ", hive_partitioning = false, file_row_number = true) WHERE ", kRowNumber,
                   " >= ", selection.first, " AND ", kRowNumber, " < ", selection.end);
  if (selection.filter == nullptr) return where;
  CAIRN_ASSIGN_OR_RETURN(const std::string filter, SqlOf(*selection.filter));
  return absl::StrCat(where, " AND ", filter);
}

absl::StatusOr<std::string> ParquetFile::PassedOf(
    const std::vector<job::RowFilter>& filters) const {
  std::string passed = "CASE";
  for (size_t i = 0; i < filters.size(); ++i) {
    CAIRN_ASSIGN_OR_RETURN(const std::string filter, SqlOf(filters[i]));
    absl::StrAppend(&passed, " WHEN ", filter, " IS NOT TRUE THEN ", i);
  }
  return absl::StrCat("(", passed, " ELSE ", filters.size(), " END)::BIGINT");
}

absl::StatusOr<std::string> ParquetFile::ExpressionOf(const FeatureEncoder::Wanted& wanted) const {
  CAIRN_ASSIGN_OR_RETURN(const Column* const column, Find(wanted.name));
  if (column->is_folder) {
    if (!column->value) return std::string("NULL::VARCHAR");
    const std::string text = SqlText(*column->value);
    if (wanted.is_names || wanted.is_file) return text;
    // A number, unless it is none: a date, for example, is a text, which is an error where a number
    // is wanted, and not a null, which would get the column's default.
    double number = 0;
    const bool is_number =
        column->value->find_first_not_of("0123456789+-.eE") == std::string::npos &&
        absl::SimpleAtod(*column->value, &number);
    return is_number ? absl::StrCat("CAST(", text, " AS DOUBLE)") : text;
  }
  const std::string name = SqlName(wanted.name);
  const auto cast = [&](const char* type) {
    return absl::StrCat("CAST(", name, " AS ", ListsOf(type, column->lists), ")");
  };
  if (IsReadAsItIs(wanted, column->type)) return name;
  if (IsWhole(column->type)) return cast("VARCHAR");
  if (wanted.is_names && column->type == DuckdbType::kUbigint) return cast("VARCHAR");
  if (IsOtherNumber(column->type)) return cast("DOUBLE");
  return Malformed(absl::StrCat(
      "column \"", PrintableLine(wanted.name),
      "\" has neither numbers nor texts nor lists of them; convert it when you write the file"));
}

absl::Status ParquetFile::ForEachRow(const std::vector<FeatureEncoder::Wanted>& wanted,
                                     const Selection& selection, const OnRow& on_row) {
  if (!knows_columns_) {
    const auto status = ForEachRowAsItIs(wanted, selection, on_row);
    if (status.has_value()) return *status;
    CAIRN_RETURN_IF_ERROR(ReadColumns());
  }
  std::string sql = "SELECT ";
  for (const FeatureEncoder::Wanted& each : wanted) {
    CAIRN_ASSIGN_OR_RETURN(const std::string expression, ExpressionOf(each));
    absl::StrAppend(&sql, expression, ", ");
  }
  if (selection.counted != nullptr) {
    CAIRN_ASSIGN_OR_RETURN(const std::string passed, PassedOf(*selection.counted));
    absl::StrAppend(&sql, passed, ", ");
  }
  CAIRN_ASSIGN_OR_RETURN(const std::string where, WhereOf(selection));
  return ReadRows(
      absl::StrCat(sql, kRowNumber, where), wanted, selection,
      [](const std::vector<DuckdbColumn>&) { return absl::OkStatus(); }, on_row);
}

// To prepare a query takes as long as to read a thousand rows, so there is only one.
std::optional<absl::Status> ParquetFile::ForEachRowAsItIs(
    const std::vector<FeatureEncoder::Wanted>& wanted, const Selection& selection,
    const OnRow& on_row) {
  if (selection.filter != nullptr || selection.counted != nullptr) return std::nullopt;
  std::string sql = "SELECT ";
  for (const FeatureEncoder::Wanted& each : wanted) {
    if (columns_.contains(each.name) || IsNameOfDuckdb(each.name)) return std::nullopt;
    if (absl::Status status = CheckName(each.name); !status.ok()) return status;
    absl::StrAppend(&sql, SqlName(each.name), ", ");
  }
  const absl::StatusOr<std::string> where = WhereOf(selection);
  if (!where.ok()) return where.status();
  bool fits = false;
  absl::Status status = ReadRows(
      absl::StrCat(sql, kRowNumber, *where), wanted, selection,
      [&](const std::vector<DuckdbColumn>& columns) {
        for (size_t i = 0; i < wanted.size(); ++i) {
          // DuckDB finds names in other cases, too.
          if (columns[i].name != wanted[i].name || !IsReadAsItIs(wanted[i], columns[i].type)) {
            return absl::CancelledError("");
          }
        }
        fits = true;
        return absl::OkStatus();
      },
      on_row);
  return fits ? std::optional(std::move(status)) : std::nullopt;
}

absl::Status ParquetFile::ReadRows(const std::string& sql,
                                   const std::vector<FeatureEncoder::Wanted>& wanted,
                                   const Selection& selection, const Duckdb::Columns& on_columns,
                                   const OnRow& on_row) {
  const auto filters =
      static_cast<int64_t>(selection.counted == nullptr ? 0 : selection.counted->size());
  std::vector<RowReader> readers;
  std::vector<FeatureValues> values(wanted.size());
  return Query(
      sql,
      [&](const std::vector<DuckdbColumn>& columns) {
        for (size_t i = 0; i < wanted.size(); ++i) readers.emplace_back(wanted[i], columns[i]);
        return on_columns(columns);
      },
      [&](const std::vector<DuckdbVector>& columns, uint64_t rows) -> absl::Status {
        for (uint64_t row = 0; row < rows; ++row) {
          const auto number = Load<int64_t>(columns.back().data, row);
          if (filters > 0) {
            const auto passed = Load<int64_t>(columns[wanted.size()].data, row);
            if (passed < filters) {
              CAIRN_RETURN_IF_ERROR(selection.on_left_out(number, static_cast<int>(passed)));
              continue;
            }
          }
          absl::Status status;
          for (size_t i = 0; i < wanted.size() && status.ok(); ++i) {
            status = readers[i].Read(columns[i], row, &values[i]);
          }
          if (status.ok()) status = on_row(number, values);
          if (status.ok()) continue;
          return absl::Status(status.code(), absl::StrCat("row ", number, ": ", status.message()));
        }
        return absl::OkStatus();
      });
}

absl::Status ParquetFile::ForEachName(const std::string& column, const job::RowFilter* filter,
                                      const OnName& on_name) {
  CAIRN_RETURN_IF_ERROR(ReadColumns());
  CAIRN_ASSIGN_OR_RETURN(const Column* const found, Find(column));
  const FeatureEncoder::Wanted wanted = {column, 1, true, false};
  CAIRN_ASSIGN_OR_RETURN(std::string expression, ExpressionOf(wanted));
  if (found->lists > 0) expression = absl::StrCat("unnest(", expression, ", recursive := true)");
  CAIRN_ASSIGN_OR_RETURN(const std::string where, WhereOf({filter}));
  return Query(
      absl::StrCat("SELECT DISTINCT name FROM (SELECT ", expression, " AS name", where, ")"),
      [&](const std::vector<DuckdbColumn>& columns) {
        return IsText(columns[0].type)
                   ? absl::OkStatus()
                   : absl::InvalidArgumentError(
                         absl::StrCat("column \"", PrintableLine(column), "\" has no names"));
      },
      [&](const std::vector<DuckdbVector>& columns, uint64_t rows) -> absl::Status {
        for (uint64_t row = 0; row < rows; ++row) {
          if (columns[0].is_null(row)) continue;
          CAIRN_RETURN_IF_ERROR(on_name(DuckdbBytes(columns[0], row)));
        }
        return absl::OkStatus();
      });
}

}  // namespace cairn::worker
