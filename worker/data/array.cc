#include "worker/data/array.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/half.h"
#include "common/status_macros.h"

namespace cairn::worker {
namespace {

// The size of the pieces that ForEachRow reads.
constexpr int64_t kScanBytes = int64_t{4} << 20;
// A read of so much costs about as much as one of a few bytes.
constexpr int64_t kSmallRead = int64_t{64} << 10;

struct TypeRow {
  const char* name;
  int64_t bytes;
};

// In the order of ElementType.
constexpr TypeRow kTypes[] = {{"bool", 1},  {"uint8", 1},   {"int8", 1},    {"uint16", 2},
                              {"int16", 2}, {"uint32", 4},  {"int32", 4},   {"uint64", 8},
                              {"int64", 8}, {"float16", 2}, {"float32", 4}, {"float64", 8}};

const TypeRow& RowOf(ElementType type) { return kTypes[static_cast<int>(type)]; }

// Calls function(T{}) with the C++ type of `type`.
template <typename Function>
void WithType(ElementType type, Function function) {
  switch (type) {
    case ElementType::kBool:
    case ElementType::kUint8:
      return function(uint8_t{});
    case ElementType::kInt8:
      return function(int8_t{});
    case ElementType::kUint16:
      return function(uint16_t{});
    case ElementType::kInt16:
      return function(int16_t{});
    case ElementType::kUint32:
      return function(uint32_t{});
    case ElementType::kInt32:
      return function(int32_t{});
    case ElementType::kUint64:
      return function(uint64_t{});
    case ElementType::kInt64:
      return function(int64_t{});
    case ElementType::kFloat16:
      return function(Float16{});
    case ElementType::kFloat64:
      return function(double{});
    case ElementType::kFloat32:
      break;
  }
  return function(float{});
}

// Elements in a file may be unaligned.
template <typename T>
T Load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

uint8_t Turned(uint8_t bits) { return bits; }
uint16_t Turned(uint16_t bits) { return __builtin_bswap16(bits); }
uint32_t Turned(uint32_t bits) { return __builtin_bswap32(bits); }
uint64_t Turned(uint64_t bits) { return __builtin_bswap64(bits); }

template <size_t kBytes>
using Bits = std::conditional_t<
    kBytes == 1, uint8_t,
    std::conditional_t<kBytes == 2, uint16_t, std::conditional_t<kBytes == 4, uint32_t, uint64_t>>>;

// Swaps whole words, which the compiler vectorizes.
template <typename T>
T LoadBigEndian(const char* at) {
  return std::bit_cast<T>(Turned(Load<Bits<sizeof(T)>>(at)));
}

}  // namespace

int64_t ElementBytes(ElementType type) { return RowOf(type).bytes; }

bool IsFloat(ElementType type) {
  return type == ElementType::kFloat16 || type == ElementType::kFloat32 ||
         type == ElementType::kFloat64;
}

const char* ElementName(ElementType type) { return RowOf(type).name; }

Array::Array(std::shared_ptr<const FileBytes> file, int64_t rows, const Layout& layout)
    : layout_(layout),
      row_shape_(layout.row_shape),
      elements_(nn::ElementCount(layout.row_shape)),
      row_bytes_(elements_ * ElementBytes(layout.type)) {
  if (layout_.stride == 0) layout_.stride = row_bytes_;
  in_memory_ = file->in_memory();
  can_change_ = file->can_change();
  parts_.push_back({std::move(file), layout.offset});
  ends_.push_back(rows);
}

absl::Status Array::Append(const Array& other) {
  // One layout describes all parts, so stride and byte order must agree too.
  const bool same = type() == other.type() && row_shape() == other.row_shape() &&
                    layout_.stride == other.layout_.stride &&
                    layout_.big_endian == other.layout_.big_endian;
  if (!same) {
    return absl::InvalidArgumentError(
        absl::StrCat("data file ", other.file(), ": ", other.ToString(), " does not continue ",
                     ToString(), " of ", file(),
                     "; files of one source have the same type, order of bytes and "
                     "shape but for the first axis"));
  }
  const int64_t rows_before = rows();
  parts_.insert(parts_.end(), other.parts_.begin(), other.parts_.end());
  in_memory_ &= other.in_memory_;
  can_change_ |= other.can_change_;
  for (const int64_t end : other.ends_) ends_.push_back(rows_before + end);
  return absl::OkStatus();
}

Array Array::Select(const RowSelection& selection) const {
  Array selected;
  if (selection.is_range()) {
    const int64_t first = selection.examples() == 0 ? 0 : selection.RowOf(0);
    selected = Range(first, first + selection.examples());
  } else {
    selected = *this;
    selected.selection_ = selection;
  }
  if (!selection.is_window()) return selected;
  selected.row_shape_.insert(selected.row_shape_.begin(), selection.size());
  selected.elements_ *= selection.size();
  return selected;
}

Array Array::Without(const std::vector<int64_t>& rows) const {
  Array result = *this;
  if (rows.empty()) return result;
  result.selection_ = (selection_ ? *selection_ : RowSelection(FileRows())).Without(rows);
  return result;
}

Array Array::Rows() const {
  if (size() == 1) return *this;
  Array all = *this;
  all.selection_.reset();
  all.row_shape_ = layout_.row_shape;
  all.elements_ = elements_ / size();
  return all.Select(selection_->Rows());
}

// The other files are not opened.
Array Array::Range(int64_t first, int64_t end) const {
  Array selected = *this;
  selected.parts_.clear();
  selected.open_ = {};
  selected.ends_.clear();
  for (int i = 0; i < static_cast<int>(parts_.size()); ++i) {
    const int64_t begin = std::max(first, FirstRow(i));
    const int64_t part_end = std::min(end, ends_[i]);
    if (begin >= part_end) continue;
    const int64_t skipped = begin - FirstRow(i);
    Part part = parts_[i];
    part.offset += static_cast<uint64_t>(skipped) * layout_.stride;
    part.first_row += skipped;
    selected.parts_.push_back(std::move(part));
    selected.ends_.push_back(part_end - first);
  }
  return selected;
}

std::string Array::ToString() const {
  nn::Shape shape = row_shape();
  shape.insert(shape.begin(), rows());
  return absl::StrCat(ElementName(type()), " ", nn::ShapeText(shape));
}

// Most data sets have files of about the same size: a guess saves the search.
int Array::PartOf(int64_t row) const {
  if (parts_.size() == 1) return 0;
  const int last = static_cast<int>(parts_.size()) - 1;
  const double share = static_cast<double>(row) / static_cast<double>(ends_.back());
  const int guess = std::clamp(static_cast<int>(share * (last + 1)), 0, last);
  for (int part = std::max(0, guess - 1); part <= std::min(guess + 1, last); ++part) {
    if (row >= FirstRow(part) && row < ends_[part]) return part;
  }
  return static_cast<int>(std::upper_bound(ends_.begin(), ends_.end(), row) - ends_.begin());
}

std::vector<int> Array::PartsOf(const std::vector<int64_t>& rows) const {
  if (parts_.size() == 1) return {0};
  std::vector<int> parts;
  for (const int64_t row : rows) {
    const int first = PartOf(FileRow(row));
    const int last = size() == 1 ? first : PartOf(LastFileRow(row));
    for (int part = first; part <= last; ++part) {
      // Shuffled rows often change between a few files.
      const size_t known = std::min<size_t>(parts.size(), 4);
      if (std::find(parts.end() - known, parts.end(), part) == parts.end()) parts.push_back(part);
    }
  }
  std::sort(parts.begin(), parts.end());
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  return parts;
}

std::string Array::Place(int64_t row) const {
  const int64_t file_row = FileRow(row);
  const int part = PartOf(file_row);
  return absl::StrCat(parts_[part].file->name(), ", row ",
                      parts_[part].first_row + file_row - FirstRow(part));
}

absl::StatusOr<const char*> Array::Row(int64_t row, std::string* scratch) const {
  return size() == 1 ? ReadFileRow(FileRow(row), scratch) : ReadWindow(row, scratch);
}

absl::StatusOr<const char*> Array::ReadFileRow(int64_t row, std::string* scratch) const {
  const int part = PartOf(row);
  return parts_[part].file->Read(parts_[part].offset + (row - FirstRow(part)) * layout_.stride,
                                 row_bytes_, scratch);
}

bool Array::IsAdjacent(int64_t row) const {
  return layout_.stride == row_bytes_ && LastFileRow(row) - FileRow(row) == size() - 1;
}

const char* Array::RowWithin(int64_t row, const char* bytes, int64_t first,
                             std::string* scratch) const {
  const char* const begin = bytes + (FileRow(row) - first) * layout_.stride;
  if (size() == 1 || IsAdjacent(row)) return begin;
  scratch->clear();
  for (int64_t place = 0; place < size(); ++place) {
    scratch->append(bytes + (FileRow(row, place) - first) * layout_.stride, row_bytes_);
  }
  return scratch->data();
}

absl::StatusOr<const char*> Array::ReadWindow(int64_t row, std::string* scratch) const {
  const int64_t first = FileRow(row);
  const int64_t span = (LastFileRow(row) - first) * layout_.stride + row_bytes_;
  const int part = PartOf(first);
  const uint64_t offset = parts_[part].offset + (first - FirstRow(part)) * layout_.stride;
  thread_local std::string read;  // Keeps its memory from one example to the next.
  if (LastFileRow(row) < ends_[part]) {
    if (IsAdjacent(row)) return parts_[part].file->Read(offset, span, scratch);
    // One read, unless most of it would be of other rows.
    if (span <= std::max(kSmallRead, 2 * size() * row_bytes_)) {
      CAIRN_ASSIGN_OR_RETURN(const char* const bytes, parts_[part].file->Read(offset, span, &read));
      return RowWithin(row, bytes, first, scratch);
    }
  }
  scratch->clear();
  for (int64_t place = 0; place < size(); ++place) {
    CAIRN_ASSIGN_OR_RETURN(const char* const bytes, ReadFileRow(FileRow(row, place), &read));
    scratch->append(bytes, row_bytes_);
  }
  return scratch->data();
}

int64_t Array::FirstRowOf(int64_t number, int64_t readers) const {
  const auto parts = static_cast<int64_t>(parts_.size());
  if (parts < readers)
    return static_cast<int64_t>(static_cast<__int128>(rows()) * number / readers);
  const int64_t part = parts * number / readers;
  if (part == parts) return rows();
  // The first one that is not before the part: rows of the files ascend.
  int64_t low = 0, high = rows();
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (FileRow(middle) < FirstRow(static_cast<int>(part))) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

absl::Status Array::ForEachRow(int64_t first_row, int64_t end_row, Visit visit) const {
  // Many rows at a time: one system call for each row would dominate the time of a scan.
  const int64_t step = std::max<int64_t>(1, kScanBytes / std::max<int64_t>(1, layout_.stride));
  std::string scratch;
  std::string window;
  for (int64_t row = first_row; row < end_row;) {
    const int64_t first = FileRow(row);
    const int part = PartOf(first);
    const int64_t end = std::min(ends_[part], first + step);
    if (LastFileRow(row) >= end) {
      // A window across files, or a large one.
      CAIRN_ASSIGN_OR_RETURN(const char* const bytes, Row(row, &scratch));
      CAIRN_RETURN_IF_ERROR(visit(row, bytes));
      ++row;
      continue;
    }
    int64_t next = row + 1;
    while (next < end_row && LastFileRow(next) < end) ++next;
    CAIRN_ASSIGN_OR_RETURN(
        const char* const bytes,
        parts_[part].file->Read(parts_[part].offset + (first - FirstRow(part)) * layout_.stride,
                                (LastFileRow(next - 1) - first) * layout_.stride + row_bytes_,
                                &scratch));
    for (; row < next; ++row) {
      CAIRN_RETURN_IF_ERROR(visit(row, RowWithin(row, bytes, first, &window)));
    }
  }
  return absl::OkStatus();
}

template <typename Out, typename Convert>
void Array::ConvertRow(const char* row, Out* out, Convert convert) const {
  WithType(layout_.type, [&](auto item) {
    using T = decltype(item);
    if (layout_.planes) {
      const int64_t channels = row_shape().back();
      const int64_t positions = channels == 0 ? 0 : elements_ / size() / channels;
      for (int64_t place = 0; place < size(); ++place) {
        const int64_t base = place * positions * channels;
        for (int64_t channel = 0; channel < channels; ++channel) {
          for (int64_t i = 0; i < positions; ++i) {
            out[base + i * channels + channel] =
                convert(Load<T>(row + (base + channel * positions + i) * sizeof(T)));
          }
        }
      }
    } else if (layout_.big_endian && sizeof(T) > 1) {
      for (int64_t i = 0; i < elements_; ++i) {
        out[i] = convert(LoadBigEndian<T>(row + i * sizeof(T)));
      }
    } else {
      for (int64_t i = 0; i < elements_; ++i) out[i] = convert(Load<T>(row + i * sizeof(T)));
    }
  });
}

void Array::RowToFloats(const char* row, double scale, float* out) const {
  if (scale == 1.0) {
    return ConvertRow(row, out, [](auto value) { return static_cast<float>(value); });
  }
  // In double, so that an integer of 32 bits is exact before the multiplication.
  ConvertRow(row, out, [scale](auto value) {
    return static_cast<float>(static_cast<double>(value) * scale);
  });
}

void Array::RowToInts(const char* row, int32_t* out) const {
  ConvertRow(row, out, [](auto value) { return static_cast<int32_t>(value); });
}

void Array::RowToDoubles(const char* row, double* out) const {
  ConvertRow(row, out, [](auto value) { return static_cast<double>(value); });
}

void Array::RowToWholes(const char* row, int64_t* out) const {
  ConvertRow(row, out, [](auto value) { return static_cast<int64_t>(value); });
}

absl::Status Array::CheckUnchanged(const std::vector<int64_t>& rows) const {
  if (!can_change_) return absl::OkStatus();
  for (const int part : PartsOf(rows)) {
    CAIRN_RETURN_IF_ERROR(parts_[part].file->CheckUnchanged());
  }
  return absl::OkStatus();
}

absl::Status Array::OpenFiles(const std::vector<int64_t>& rows) const {
  if (is_open()) return absl::OkStatus();
  for (const int part : PartsOf(rows)) CAIRN_RETURN_IF_ERROR(parts_[part].file->Prepare());
  return absl::OkStatus();
}

// Parts stay open, so each is looked at once after it was opened.
bool Array::is_open() const {
  size_t open = open_.value();
  while (open < parts_.size() && parts_[open].file->is_open()) ++open;
  open_.Set(open);
  return open == parts_.size();
}

absl::Status CheckRowsNotEmpty(const FileBytes& file, int64_t rows, const Array::Layout& layout) {
  nn::Shape shape = layout.row_shape;
  if (std::find(shape.begin(), shape.end(), 0) == shape.end()) return absl::OkStatus();
  shape.insert(shape.begin(), rows);
  return file.Malformed(absl::StrCat("its examples hold no numbers: ", ElementName(layout.type),
                                     " ", nn::ShapeText(shape)));
}

}  // namespace cairn::worker
