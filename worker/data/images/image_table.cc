#include "worker/data/images/image_table.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/printable.h"
#include "common/status_macros.h"
#include "job/data_url.h"
#include "worker/data/csv/csv_file.h"
#include "worker/data/parquet/parquet_file.h"

namespace cairn::worker {
namespace {

// Called for each row with its path and, if labels are needed, its label.
using OnImage = std::function<absl::Status(std::string_view path, std::string_view label)>;

struct Columns {
  std::string path;
  std::string label;
  TableLabels labels = TableLabels::kNone;

  bool has_labels() const { return labels != TableLabels::kNone; }
  std::vector<std::string> names() const {
    return has_labels() ? std::vector{path, label} : std::vector{path};
  }
};

absl::Status ReadCsvTable(const std::string& table, const Columns& columns,
                          const OnImage& on_image) {
  proto::CsvSource source;
  if (absl::EndsWithIgnoreCase(absl::StripSuffix(table, ".gz"), ".tsv")) source.set_delimiter("\t");
  CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> found, ReadCsvColumns(table, source));
  for (const std::string& name : columns.names()) {
    if (absl::c_linear_search(found, name)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("data file ", table, ": it has no column \"", name, "\", only ",
                     PrintableLine(absl::StrJoin(found, ", ")),
                     "; \"path_column\" and \"label_column\" name them"));
  }
  // One thread has one slot: rows come in their order.
  const auto visit = [&](int, const CsvRow& row, CsvProblems*) {
    return on_image(row.field(0), columns.has_labels() ? row.field(1) : std::string_view());
  };
  const auto take = [](int) { return absl::OkStatus(); };
  return ReadCsvBlocks(table, source, columns.names(), CsvSplit(), visit, take);
}

bool IsNan(const FeatureValues& values) {
  return (values.kind == FeatureValues::Kind::kFloats && std::isnan(values.floats[0])) ||
         (values.kind == FeatureValues::Kind::kDoubles && std::isnan(values.doubles[0]));
}

// The text of a label or path, which may be a number. None: a null, or a list.
std::optional<std::string> TextOf(const FeatureValues& values) {
  if (values.count != 1) return std::nullopt;
  if (values.kind == FeatureValues::Kind::kBytes) return std::string(values.bytes[0]);
  std::array<char, 32> digits;
  const auto write = [&digits](auto number) {
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number);
    return std::string(digits.data(), end.ptr);
  };
  if (values.kind == FeatureValues::Kind::kFloats) return write(values.floats[0]);
  if (values.kind == FeatureValues::Kind::kDoubles) return write(values.doubles[0]);
  return std::nullopt;
}

absl::Status ReadParquetTable(const std::string& table, const Columns& columns,
                              const OnImage& on_image) {
  DuckdbPool pool({table});
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<ParquetFile> file, ParquetFile::Open(table, &pool));
  std::vector<FeatureEncoder::Wanted> wanted;
  for (const std::string& name : columns.names()) wanted.push_back({name, 1, true, false});
  return file->ForEachRow(
      wanted, {}, [&](int64_t, const std::vector<FeatureValues>& values) -> absl::Status {
        std::vector<std::string> texts;
        for (size_t i = 0; i < values.size(); ++i) {
          std::optional<std::string> text = TextOf(values[i]);
          if (!text) {
            return absl::InvalidArgumentError(
                absl::StrCat("column \"", wanted[i].name, "\" has neither a text nor a number"));
          }
          texts.push_back(*std::move(text));
        }
        if (columns.labels == TableLabels::kClasses && IsNan(values[1])) texts[1].clear();
        return on_image(texts[0], columns.has_labels() ? texts[1] : "");
      });
}

// The name of an image whose path is relative to the folder of its table.
std::string Beside(const std::string& table, const std::string& path) {
  if (job::IsDataUrl(table)) return absl::StrCat(table.substr(0, table.rfind('/') + 1), path);
  return (std::filesystem::path(table).parent_path() / path).string();
}

}  // namespace

bool IsImageTable(const std::string& name) {
  const absl::string_view stem = absl::StripSuffix(name, ".gz");
  return absl::c_any_of(std::vector{".csv", ".tsv", ".parquet"}, [&](const char* extension) {
    return absl::EndsWithIgnoreCase(stem, extension);
  });
}

absl::StatusOr<std::vector<TableImage>> ReadImageTables(const proto::ImagesSource& source,
                                                        const std::vector<std::string>& tables,
                                                        TableLabels labels) {
  const Columns columns = {source.has_path_column() ? source.path_column() : "filename",
                           source.has_label_column() ? source.label_column() : "class", labels};
  const std::set<std::string, std::less<>> classes(source.class_names().begin(),
                                                   source.class_names().end());
  std::vector<TableImage> images;
  for (const std::string& table : tables) {
    const OnImage add = [&](std::string_view path, std::string_view label) -> absl::Status {
      const bool is_left_out =
          columns.has_labels() && !classes.empty() && classes.find(label) == classes.end();
      if (is_left_out) return absl::OkStatus();
      if (path.empty() || path.find('\0') != std::string_view::npos) {
        return absl::InvalidArgumentError(absl::StrCat("column \"", columns.path, "\": \"",
                                                       PrintableLine(path),
                                                       "\" is not the path of an image"));
      }
      if (columns.has_labels() && label.empty()) {
        return absl::InvalidArgumentError(
            absl::StrCat("column \"", columns.label,
                         "\": the label is missing; add it, or list "
                         "the classes in \"class_names\", which leaves other rows out"));
      }
      const std::string name(path);
      images.push_back({job::IsDataUrl(name) ? name : Beside(table, name), std::string(label)});
      return absl::OkStatus();
    };
    const bool is_parquet = absl::EndsWithIgnoreCase(table, ".parquet");
    CAIRN_RETURN_IF_ERROR(is_parquet ? ReadParquetTable(table, columns, add)
                                     : ReadCsvTable(table, columns, add));
  }
  return images;
}

}  // namespace cairn::worker
