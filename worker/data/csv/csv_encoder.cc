#include "worker/data/csv/csv_encoder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/plural.h"
#include "common/status_macros.h"
#include "job/data_formats/csv_format.h"
#include "job/data_formats/named_places.h"
#include "job/value_steps.h"
#include "nn/signature.h"
#include "worker/data/csv/csv_value.h"
#include "worker/data/files/spool.h"

namespace cairn::worker {
namespace {

constexpr int64_t kElementBytes = 4;
// The most bytes that the rows of one block are encoded to.
constexpr int64_t kEncodedBytes = int64_t{4} << 20;
// For smaller blocks, reading costs more than encoding, however wide the rows are.
constexpr int64_t kBlockBytesMin = 64;
// The most columns, or names of a column, that a message lists.
constexpr size_t kNamesShown = 20;

std::optional<double> FillOf(const proto::CsvColumn& column, const proto::DataPlan& plan) {
  if (column.missing().has_value()) return column.missing().value();
  for (const auto& fill : plan.fills()) {
    if (column.missing().name() == "mean" && fill.column() == column.name()) return fill.value();
  }
  return std::nullopt;
}

// A list for messages, such as: "No", "Yes" and 3 more
std::string NamesText(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(names.size(), kNamesShown); ++i) {
    shown.push_back(QuotedField(names[i]));
  }
  return absl::StrCat(
      absl::StrJoin(shown, ", "),
      names.size() > kNamesShown ? absl::StrCat(" and ", names.size() - kNamesShown, " more") : "");
}

// True if the type can represent the number. NaN and infinities are float32 values.
bool Fits(proto::DataType type, double value) {
  if (type == proto::INT32) {
    return value >= -2147483648.0 && value < 2147483648.0 && value == std::trunc(value);
  }
  return !(std::abs(value) > std::numeric_limits<float>::max()) || std::isinf(value);
}

void Store(proto::DataType type, double value, char* at) {
  if (type == proto::INT32) {
    const auto whole = static_cast<int32_t>(value);
    std::memcpy(at, &whole, sizeof whole);
  } else {
    const auto number = static_cast<float>(value);
    std::memcpy(at, &number, sizeof number);
  }
}

}  // namespace

CsvEncoder::CsvEncoder(const proto::DataSource& source, const proto::DataPlan& plan,
                       const nn::Signature& model, const std::vector<LabelSpec>& labels,
                       std::shared_ptr<const RowCondition> condition)
    : source_(source.csv()),
      allow_nan_(source.allow_nan()),
      skips_damaged_(source.skip_damaged() > 0),
      scale_(source.has_scale() ? source.scale() : 1),
      labels_(labels),
      inputs_(static_cast<int>(model.inputs().size())) {
  for (int i = 0; i < inputs_; ++i) {
    targets_.push_back({.type = job::RowType(source, model, i),
                        .wanted = job::RowShape(source, model, i),
                        .name = model.inputs()[i].name});
  }
  for (const LabelSpec& label : labels_) {
    targets_.push_back({.type = label.type, .wanted = nn::Shape()});
  }
  for (const auto& column : source_.features()) {
    const int input = job::PlaceOf(column.input(), model.inputs());
    AddColumn(column, plan, input, model.lookup(input));
  }
  for (const auto& column : source_.labels()) {
    AddColumn(column, plan, inputs_ + job::PlaceOf(column.output(), model.outputs()));
  }
  for (Column& column : columns_) {
    column.bytes_behind = (targets_[column.target].elements - column.place) * kElementBytes;
  }
  for (Target& target : targets_) {
    const bool fits = target.wanted && nn::ElementCount(*target.wanted) == target.elements;
    target.shape = fits ? *target.wanted : nn::Shape{target.elements};
  }
  filter_.emplace(std::move(condition), source_, &names_);
  if (filter_->needs_all_rows()) targets_.push_back({.type = proto::INT32, .elements = 1});
}

void CsvEncoder::AddColumn(const proto::CsvColumn& spec, const proto::DataPlan& plan, int target,
                           const nn::StringLookupLayer* lookup) {
  Column column;
  column.spec = spec;
  column.categorical = job::IsCategorical(spec) || lookup != nullptr;
  column.is_text = lookup != nullptr;
  column.takes_unknown = lookup != nullptr && lookup->takes_unknown();
  if (target >= inputs_) {
    column.label = &labels_[target - inputs_];
    column.taker = column.label->Taker();
  }
  if (column.categorical) {
    column.names = lookup == nullptr ? job::VocabularyOf(spec, plan) : lookup->vocabulary();
    for (const std::string& name : column.names) {
      column.ids.emplace(name, static_cast<int32_t>(column.ids.size()));
    }
    if (spec.has_hash() && lookup == nullptr) column.hash.emplace(spec.hash());
    if (spec.one_hot()) {
      column.width = column.hash ? spec.hash().num_bins()
                                 : static_cast<int64_t>(column.ids.size()) + spec.unknown();
    }
  } else {
    column.fill = FillOf(spec, plan);
  }
  column.target = target;
  column.type = targets_[target].type;
  column.place = targets_[target].elements;
  SetBounds(&column);
  targets_[target].elements += column.width;
  names_.push_back(spec.name());
  columns_.push_back(std::move(column));
}

void CsvEncoder::SetBounds(Column* column) const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  // Slightly less than the largest float32. CheckNumber decides about products near it.
  constexpr double kSurelyFinite = 3e38;
  const double scale = column->label == nullptr ? std::abs(scale_) : 1;
  column->most = allow_nan_ ? kInfinity : kSurelyFinite / std::max(scale, 1.0);
  column->least = -column->most;
  if (column->label == nullptr) return;
  column->least = std::max(column->least, column->label->least);
  column->most = std::min(column->most, column->label->most);
}

EncodedLayouts CsvEncoder::layouts() const {
  EncodedLayouts layouts;
  layouts.inputs = inputs_;
  for (const Target& target : targets_) {
    Array::Layout& layout = layouts.targets.emplace_back();
    layout.type = target.type == proto::INT32 ? ElementType::kInt32 : ElementType::kFloat32;
    layout.row_shape = target.shape;
  }
  layouts.has_passed = filter_->needs_all_rows();
  return layouts;
}

size_t CsvEncoder::block_bytes() const {
  int64_t row_bytes = 0;
  for (const Target& target : targets_) row_bytes += target.elements * kElementBytes;
  // A field has at least one byte: the delimiter or line end after it.
  const auto text_bytes = static_cast<int64_t>(columns_.size());
  const int64_t bytes = kEncodedBytes / std::max<int64_t>(row_bytes, 1) * text_bytes;
  const auto most = static_cast<int64_t>(CsvSplit().block_bytes);
  return static_cast<size_t>(std::clamp(bytes, kBlockBytesMin, most));
}

absl::StatusOr<CsvEncoder::File> CsvEncoder::ReadFile(const std::string& path, int threads,
                                                      DataStorage* storage) const {
  std::vector<std::unique_ptr<Spool>> spools;
  for (size_t i = 0; i < targets_.size(); ++i) {
    spools.push_back(std::make_unique<Spool>(path, storage));
  }
  std::vector<Rows> blocks(CsvScan::SlotsOf(threads), Rows{0, Bytes(targets_.size())});
  int64_t count = 0;
  const auto encode = [&](int slot, const CsvRow& row, CsvProblems* problems) -> absl::Status {
    CAIRN_ASSIGN_OR_RETURN(const int passed, filter_->Passed(row));
    Rows& rows = blocks[slot];
    if (passed == filter_->filters()) {
      Encode(row, &rows, problems);
    } else if (filter_->needs_all_rows()) {
      AddZeros(&rows);
    }
    if (!filter_->needs_all_rows()) return absl::OkStatus();
    std::string& last = rows.bytes.back();
    Store(proto::INT32, passed, last.data() + last.size() - kElementBytes);
    return absl::OkStatus();
  };
  const auto keep = [&](int slot) -> absl::Status {
    Rows& rows = blocks[slot];
    count += std::exchange(rows.count, 0);
    for (size_t i = 0; i < targets_.size(); ++i) {
      CAIRN_RETURN_IF_ERROR(spools[i]->Append(rows.bytes[i]));
      rows.bytes[i].clear();
    }
    return absl::OkStatus();
  };
  const CsvSplit split = {threads, block_bytes()};
  CsvDamage damage;
  CAIRN_RETURN_IF_ERROR(ReadCsvBlocks(path, source_, names_, split, encode, keep,
                                      skips_damaged_ ? &damage : nullptr));
  File result;
  result.rows.examples = count;
  result.rows.damaged.set_count(damage.rows);
  result.rows.damaged.set_first_error(damage.first_error);
  result.rows.damaged.mutable_places()->Assign(damage.places.begin(), damage.places.end());
  result.all_errors = std::move(damage.all_errors);
  for (const std::unique_ptr<Spool>& spool : spools) {
    CAIRN_ASSIGN_OR_RETURN(result.rows.rows.emplace_back(), spool->Finish());
  }
  return result;
}

void CsvEncoder::AddZeros(Rows* rows) const {
  ++rows->count;
  for (size_t i = 0; i < targets_.size(); ++i) {
    rows->bytes[i].resize(rows->bytes[i].size() + targets_[i].elements * kElementBytes);
  }
}

void CsvEncoder::Encode(const CsvRow& row, Rows* rows, CsvProblems* problems) const {
  AddZeros(rows);
  bool is_damaged = false;
  for (int i = 0; i < static_cast<int>(columns_.size()); ++i) {
    if (!row.has(i)) continue;
    const Column& column = columns_[i];
    std::string& target = rows->bytes[column.target];
    // The place of the column's values, which are zero.
    char* const at = target.data() + target.size() - column.bytes_behind;
    const std::string_view field = row.field(i);
    // The fast path: most fields are valid numbers.
    if (!column.categorical && (source_.missing().empty() || !IsMissing(field, source_))) {
      const std::optional<double> number = ParseNumber(field);
      if (number && *number >= column.least && *number <= column.most &&
          Fits(column.type, *number)) {
        Store(column.type, *number, at);
        continue;
      }
    }
    double value = 0;
    const std::optional<Problem> problem =
        column.categorical ? IdOf(column, field, &value) : NumberOf(column, field, &value);
    if (problem) {
      is_damaged = true;
      problems->Add(i, *problem, row.line(), field,
                    [&] { return Describe(column, *problem, field); });
    } else if (column.spec.one_hot()) {
      Store(column.type, 1, at + static_cast<int64_t>(value) * kElementBytes);
    } else {
      Store(column.type, value, at);
    }
  }
  if (!is_damaged || !skips_damaged_) return;
  --rows->count;
  for (size_t i = 0; i < targets_.size(); ++i) {
    rows->bytes[i].resize(rows->bytes[i].size() - targets_[i].elements * kElementBytes);
  }
}

std::optional<CsvEncoder::Problem> CsvEncoder::NumberOf(const Column& column,
                                                        std::string_view field,
                                                        double* value) const {
  if (IsMissing(field, source_)) {
    if (!column.fill) return kMissing;
    *value = column.type == proto::INT32 ? std::round(*column.fill) : *column.fill;
  } else {
    const std::optional<double> number = ParseNumber(field);
    if (!number) return WithDecimalPoint(field).empty() ? kNoNumber : kDecimalComma;
    *value = *number;
  }
  return CheckNumber(column, *value);
}

// Dataset checks the arrays of all formats in the same way. Here the line is known.
std::optional<CsvEncoder::Problem> CsvEncoder::CheckNumber(const Column& column,
                                                           double value) const {
  const bool is_whole = column.type == proto::INT32;
  if (!Fits(column.type, value)) return is_whole ? kNotWhole : kTooLarge;
  const double stored = is_whole ? value : static_cast<double>(static_cast<float>(value));
  if (column.label != nullptr && column.label->has_bounds() &&
      !(stored >= column.label->least && stored <= column.label->most)) {
    return kNotALabel;
  }
  if (is_whole || allow_nan_) return std::nullopt;
  const double scale = column.label == nullptr ? scale_ : 1;
  if (!std::isfinite(static_cast<float>(stored * scale))) return kNotFinite;
  return std::nullopt;
}

std::optional<CsvEncoder::Problem> CsvEncoder::IdOf(const Column& column, std::string_view field,
                                                    double* value) const {
  // An empty text is a text.
  if (!column.is_text && IsMissing(field, source_)) {
    if (!column.spec.has_missing()) return kMissing;
    field = column.spec.missing().name();
  }
  if (column.hash) {
    *value = static_cast<double>(column.hash->BinOf(field));
    return std::nullopt;
  }
  const auto found = column.ids.find(field);
  if (found != column.ids.end()) {
    *value = found->second + column.takes_unknown;
    if (column.label != nullptr && *value > column.label->most) return kExtraName;
    return std::nullopt;
  }
  if (column.takes_unknown) {
    *value = 0;
    return std::nullopt;
  }
  if (column.label != nullptr || !column.spec.unknown()) return kUnknownName;
  *value = static_cast<double>(column.ids.size());
  return std::nullopt;
}

// `field` is the first field with the problem.
CsvReason CsvEncoder::Describe(const Column& column, Problem problem,
                               std::string_view field) const {
  const bool is_label = column.label != nullptr;
  CsvReason reason;
  reason.column = column.spec.name();
  const auto set = [&reason](std::string is, std::string are, std::string advice = "") {
    reason.is = std::move(is);
    reason.are = std::move(are);
    reason.advice = std::move(advice);
  };
  switch (problem) {
    case kMissing:
      set("is a missing value", "are missing values",
          absl::StrCat(is_label ? "leave the line out, or set" : "set", " \"missing\": ",
                       column.categorical ? "\"NAME\""
                       : is_label         ? "{\"value\": 0}"
                                          : "{\"value\": 0} or \"mean\""));
      break;
    case kNoNumber:
      set("is not a number", "are not numbers",
          is_label ? "if labels are names, list them in \"vocabulary\""
                   : "if the column holds names, set \"categorical\": true");
      break;
    case kDecimalComma:
      set("looks like a number with a decimal comma", "look like numbers with a decimal comma",
          absl::StrCat("numbers have a decimal point: write ", WithDecimalPoint(field)));
      break;
    case kTooLarge:
      set("is too large for a float32", "are too large for a float32");
      break;
    case kNotWhole: {
      const std::optional<double> number = ParseNumber(field);
      const bool is_large = number && *number == std::trunc(*number);
      set("is not a whole number of 32 bits", "are not whole numbers of 32 bits",
          is_large && !is_label ? "for larger ids set \"hash\" in the description of the column"
                                : "");
      break;
    }
    case kNotFinite: {
      const std::string times = is_label || scale_ == 1 ? "" : absl::StrCat("times ", scale_, " ");
      set(times + "is not a finite float32", times + "are not finite float32 numbers",
          "list it in \"missing\", or set \"allow_nan\": true to train on it");
      break;
    }
    case kNotALabel: {
      const std::string range = absl::StrCat("from ", column.label->least, " to ",
                                             column.label->most, " (", column.taker, ")");
      set("is not a label " + range, "are not labels " + range,
          column.type == proto::INT32 ? "classes are counted from 0" : "");
      break;
    }
    case kUnknownName:
    case kExtraName:
      return DescribeName(column, problem);
  }
  return reason;
}

CsvReason CsvEncoder::DescribeName(const Column& column, Problem problem) const {
  const bool is_label = column.label != nullptr;
  const bool is_listed = !column.spec.vocabulary().empty();
  CsvReason reason;
  reason.column = column.spec.name();
  reason.names = &column.names;
  const std::string names = NamesText(column.names);
  if (problem == kExtraName) {
    const std::string what = absl::StrCat(" the model's classes: the column has ",
                                          column.names.size(), " labels (", names, "), the model ",
                                          column.label->most + 1, " classes (", column.taker, ")");
    reason.is = "exceeds" + what;
    reason.are = "exceed" + what;
    reason.advice = "correct the file, or give the model as many classes";
    return reason;
  }
  const std::string known =
      absl::StrCat(is_label ? "the labels in " : "the names in ",
                   is_listed ? "\"vocabulary\" (" : "the training data (", names, ")");
  reason.is = "is none of " + known;
  reason.are = "are none of " + known;
  if (is_label) {
    reason.advice = is_listed ? "write labels as it does, or add them to it as classes of their own"
                              : "correct the file, or list all labels in \"vocabulary\"";
  } else {
    reason.advice =
        absl::StrCat(is_listed ? "add what is missing" : "list all names in \"vocabulary\"",
                     ", or set \"unknown\": true");
  }
  return reason;
}

std::string CsvEncoder::ColumnsOf(int target) const {
  std::vector<std::string> columns;
  int64_t count = 0;
  for (const Column& column : columns_) {
    if (column.target != target || ++count > static_cast<int64_t>(kNamesShown)) continue;
    columns.push_back(absl::StrCat(
        QuotedField(column.spec.name()),
        column.spec.one_hot() ? absl::StrCat(" (one_hot, ", column.width, " values)") : ""));
  }
  const int64_t more = count - static_cast<int64_t>(columns.size());
  return absl::StrCat(count == 1 ? "column " : "columns ", absl::StrJoin(columns, ", "),
                      more > 0 ? absl::StrCat(" and ", more, " more") : "");
}

std::vector<std::string> CsvEncoder::InputProblems() const {
  std::vector<std::string> problems;
  for (int i = 0; i < inputs_; ++i) {
    const Target& target = targets_[i];
    if (!target.wanted && target.elements > 0) continue;  // The pipeline changes the shape.
    const int64_t wanted = nn::ElementCount(target.wanted.value_or(nn::Shape()));
    if (target.wanted && target.elements == wanted) continue;
    problems.push_back(absl::StrCat(
        "the model's input '", target.name, "' takes ", Plural(wanted, "value"),
        " per example, the data give ", target.elements,
        target.elements == 0 ? ": no column is left" : absl::StrCat(": ", ColumnsOf(i))));
  }
  return problems;
}

std::vector<std::string> CsvEncoder::LabelProblems() const {
  std::vector<std::string> problems;
  for (size_t label = 0; label < labels_.size(); ++label) {
    const int i = inputs_ + static_cast<int>(label);
    const auto shape = labels_[label].ShapeAtLoss(targets_[i].shape);
    if (shape.ok()) continue;
    problems.push_back(absl::StrCat("label ", ColumnsOf(i), ": ", shape.status().message()));
  }
  return problems;
}

}  // namespace cairn::worker
