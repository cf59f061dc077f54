#include "worker/data/csv/csv_encoder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "job/csv_columns.h"
#include "worker/data/csv/csv_value.h"
#include "worker/data/files/spool.h"

namespace cairn::worker {
namespace {

constexpr int64_t kElementBytes = 4;
// What the rows of one block of text are to become at most.
constexpr int64_t kEncodedBytes = int64_t{4} << 20;
// Of smaller blocks reading would cost more than encoding, however wide the rows.
constexpr int64_t kBlockBytesMin = 64;

// The place of that name among a model's inputs or outputs; 0 if there is none.
template <typename Places>
int PlaceOf(const std::string& name, const Places& places) {
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i].name == name) return static_cast<int>(i);
  }
  return 0;
}

// The names of a categorical column in the order of their ids.
std::vector<std::string> VocabularyOf(const proto::CsvColumn& column, const proto::DataPlan& plan) {
  for (const auto& vocabulary : plan.vocabularies()) {
    if (column.vocabulary().empty() && vocabulary.column() == column.name()) {
      return {vocabulary.names().begin(), vocabulary.names().end()};
    }
  }
  return {column.vocabulary().begin(), column.vocabulary().end()};
}

std::optional<double> FillOf(const proto::CsvColumn& column, const proto::DataPlan& plan) {
  if (column.missing().has_value()) return column.missing().value();
  for (const auto& fill : plan.fills()) {
    if (column.missing().name() == "mean" && fill.column() == column.name()) return fill.value();
  }
  return std::nullopt;
}

// Whether a number can become one of this type. NaN and infinities can be float32.
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

CsvEncoder::CsvEncoder(const proto::CsvSource& source, const proto::DataPlan& plan,
                       const nn::Model& model, const std::vector<proto::DataType>& label_types)
    : source_(source), inputs_(static_cast<int>(model.inputs().size())) {
  for (const nn::Model::Input& input : model.inputs()) targets_.push_back({input.spec.type});
  for (const proto::DataType type : label_types) targets_.push_back({type});
  for (const auto& column : source.features()) {
    AddColumn(column, plan, PlaceOf(column.input(), model.inputs()));
  }
  for (const auto& column : source.labels()) {
    AddColumn(column, plan, inputs_ + PlaceOf(column.output(), model.outputs()));
  }
  for (Column& column : columns_) {
    column.bytes_behind = (targets_[column.target].elements - column.place) * kElementBytes;
  }
  for (int i = 0; i < static_cast<int>(targets_.size()); ++i) {
    Target& target = targets_[i];
    const bool is_labels = i >= inputs_;
    const nn::Shape wanted = is_labels ? nn::Shape() : model.inputs()[i].spec.shape;
    const bool fits = nn::ElementCount(wanted) == target.elements;
    target.shape = fits ? wanted : nn::Shape{target.elements};
  }
}

void CsvEncoder::AddColumn(const proto::CsvColumn& spec, const proto::DataPlan& plan, int target) {
  Column column;
  column.spec = spec;
  column.categorical = job::IsCategorical(spec);
  if (column.categorical) {
    for (const std::string& name : VocabularyOf(spec, plan)) {
      column.ids.emplace(name, static_cast<int32_t>(column.ids.size()));
    }
    if (spec.one_hot()) column.width = static_cast<int64_t>(column.ids.size()) + spec.unknown();
  } else {
    column.fill = FillOf(spec, plan);
  }
  column.target = target;
  column.type = targets_[target].type;
  column.place = targets_[target].elements;
  targets_[target].elements += column.width;
  names_.push_back(spec.name());
  columns_.push_back(std::move(column));
}

size_t CsvEncoder::block_bytes() const {
  int64_t row_bytes = 0;
  for (const Target& target : targets_) row_bytes += target.elements * kElementBytes;
  // A field is at least the delimiter or the line's end behind it.
  const auto text_bytes = static_cast<int64_t>(columns_.size());
  const int64_t bytes = kEncodedBytes / std::max<int64_t>(row_bytes, 1) * text_bytes;
  const auto most = static_cast<int64_t>(CsvSplit().block_bytes);
  return static_cast<size_t>(std::clamp(bytes, kBlockBytesMin, most));
}

absl::StatusOr<CsvEncoder::Arrays> CsvEncoder::ReadFile(const std::string& path, int threads,
                                                        DataStorage* storage) const {
  std::vector<std::unique_ptr<Spool>> spools;
  for (size_t i = 0; i < targets_.size(); ++i) {
    spools.push_back(std::make_unique<Spool>(path, storage));
  }
  std::vector<Rows> blocks(CsvScan::SlotsOf(threads), Rows{0, Bytes(targets_.size())});
  int64_t count = 0;
  const auto encode = [&](int slot, const CsvRow& row) { return Encode(row, &blocks[slot]); };
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
  CAIRN_RETURN_IF_ERROR(ReadCsvBlocks(path, source_, names_, split, encode, keep));
  std::vector<Array> arrays;
  for (size_t i = 0; i < targets_.size(); ++i) {
    CAIRN_ASSIGN_OR_RETURN(std::shared_ptr<const FileBytes> bytes, spools[i]->Finish());
    Array::Layout layout;
    layout.type = targets_[i].type == proto::INT32 ? ElementType::kInt32 : ElementType::kFloat32;
    layout.row_shape = targets_[i].shape;
    arrays.emplace_back(std::move(bytes), count, layout);
  }
  Arrays result;
  const auto labels = arrays.begin() + inputs_;
  result.inputs.assign(std::make_move_iterator(arrays.begin()), std::make_move_iterator(labels));
  result.labels.assign(std::make_move_iterator(labels), std::make_move_iterator(arrays.end()));
  return result;
}

absl::Status CsvEncoder::Encode(const CsvRow& row, Rows* rows) const {
  ++rows->count;
  for (size_t i = 0; i < targets_.size(); ++i) {
    rows->bytes[i].resize(rows->bytes[i].size() + targets_[i].elements * kElementBytes);
  }
  for (size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    std::string& target = rows->bytes[column.target];
    char* const at = target.data() + target.size() - column.bytes_behind;
    const std::string_view field = row.field(static_cast<int>(i));
    // Most fields are numbers, and nothing is wrong with them.
    if (!column.categorical && (source_.missing().empty() || !IsMissing(field, source_))) {
      const std::optional<double> number = ParseNumber(field);
      if (number && Fits(column.type, *number)) {
        Store(column.type, *number, at);
        continue;
      }
    }
    CAIRN_RETURN_IF_ERROR(EncodeField(column, field, at));
  }
  return absl::OkStatus();
}

// `at` is where the column's values stand, all zero.
absl::Status CsvEncoder::EncodeField(const Column& column, std::string_view field, char* at) const {
  if (!column.categorical) {
    CAIRN_ASSIGN_OR_RETURN(const double value, NumberOf(column, field));
    Store(column.type, value, at);
    return absl::OkStatus();
  }
  CAIRN_ASSIGN_OR_RETURN(const int32_t id, IdOf(column, field));
  if (column.spec.one_hot()) {
    Store(column.type, 1, at + id * kElementBytes);
  } else {
    Store(column.type, id, at);
  }
  return absl::OkStatus();
}

absl::StatusOr<double> CsvEncoder::NumberOf(const Column& column, std::string_view field) const {
  if (IsMissing(field, source_)) {
    if (column.fill) {
      const bool whole = column.type == proto::INT32;
      return whole ? std::round(*column.fill) : *column.fill;
    }
    return BadField(column.spec.name(), field,
                    "is a missing value; say what it becomes: \"missing\": {\"value\": 0} or "
                    "\"mean\"");
  }
  const std::optional<double> value = ParseNumber(field);
  if (!value) {
    return BadField(column.spec.name(), field,
                    "is not a number; of names say \"categorical\": true");
  }
  if (Fits(column.type, *value)) return *value;
  return BadField(column.spec.name(), field,
                  column.type == proto::INT32 ? "is not a whole number of 32 bits"
                                              : "is too large for a float32");
}

absl::StatusOr<int32_t> CsvEncoder::IdOf(const Column& column, std::string_view field) const {
  if (IsMissing(field, source_)) {
    if (!column.spec.has_missing()) {
      return BadField(column.spec.name(), field,
                      "is a missing value; say what it becomes: \"missing\": \"NAME\"");
    }
    field = column.spec.missing().name();
  }
  const auto found = column.ids.find(field);
  if (found != column.ids.end()) return found->second;
  if (column.spec.unknown()) return static_cast<int32_t>(column.ids.size());
  return BadField(column.spec.name(), field,
                  absl::StrCat("is not among the vocabulary's ", column.ids.size(),
                               " names; add it, or say \"unknown\": true"));
}

}  // namespace cairn::worker
