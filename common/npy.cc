#include "common/npy.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/half.h"
#include "common/status_macros.h"

namespace cairn {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

absl::Status Bad(std::string_view reason) {
  return absl::InvalidArgumentError(absl::StrCat("not a usable .npy file: ", std::string(reason)));
}

// Reads the subset of Python literals that a header uses: a dictionary with three known keys.
class LiteralReader {
 public:
  explicit LiteralReader(std::string_view text) : text_(text) {}

  bool Take(char c) {
    SkipSpace();
    if (position_ >= text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }

  std::optional<std::string_view> TakeString() {
    SkipSpace();
    if (position_ >= text_.size()) return std::nullopt;
    const char quote = text_[position_];
    if (quote != '\'' && quote != '"') return std::nullopt;
    const size_t end = text_.find(quote, position_ + 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view result = text_.substr(position_ + 1, end - position_ - 1);
    position_ = end + 1;
    return result;
  }

  // Takes the longest run of letters and digits.
  std::string_view TakeWord() {
    SkipSpace();
    const size_t begin = position_;
    while (position_ < text_.size() && absl::ascii_isalnum(text_[position_])) ++position_;
    return text_.substr(begin, position_ - begin);
  }

  bool AtEnd() {
    SkipSpace();
    return position_ == text_.size();
  }

 private:
  void SkipSpace() {
    while (position_ < text_.size() && absl::ascii_isspace(text_[position_])) ++position_;
  }

  std::string_view text_;
  size_t position_ = 0;
};

bool IsKnownType(char kind, int64_t item_bytes) {
  switch (kind) {
    case 'f':
      return item_bytes == 2 || item_bytes == 4 || item_bytes == 8;
    case 'i':
    case 'u':
      return item_bytes == 1 || item_bytes == 2 || item_bytes == 4 || item_bytes == 8;
    case 'b':
      return item_bytes == 1;
    default:
      return false;
  }
}

absl::Status ReadType(LiteralReader* reader, NpyHeader* header) {
  const auto text = reader->TakeString();
  if (!text) return Bad("'descr' is not a simple type (structured arrays are not read)");
  const std::string descr(*text);
  int64_t item_bytes = 0;
  if (descr.size() < 3 || !absl::SimpleAtoi(descr.substr(2), &item_bytes) ||
      !IsKnownType(descr[1], item_bytes)) {
    return Bad(absl::StrCat("type '", descr,
                            "' is not one of float16, float32, float64, (u)int8 to (u)int64, bool; "
                            "convert it with numpy's astype"));
  }
  header->big_endian = descr[0] == '>' && item_bytes > 1;
  header->kind = descr[1];
  header->item_bytes = item_bytes;
  return absl::OkStatus();
}

absl::Status ReadOrder(LiteralReader* reader, NpyHeader* header) {
  const std::string_view word = reader->TakeWord();
  header->fortran_order = word == "True";
  if (header->fortran_order || word == "False") return absl::OkStatus();
  return Bad("'fortran_order' is neither True nor False");
}

absl::Status ReadShape(LiteralReader* reader, NpyHeader* header) {
  if (!reader->Take('(')) return Bad("'shape' is not a tuple");
  while (!reader->Take(')')) {
    int64_t size = 0;
    const std::string word(reader->TakeWord());
    if (!absl::SimpleAtoi(word, &size) || size < 0) {
      return Bad("'shape' holds something that is not a whole number");
    }
    header->shape.push_back(size);
    if (!reader->Take(',')) {
      if (!reader->Take(')')) return Bad("'shape' does not end");
      break;
    }
  }
  return absl::OkStatus();
}

absl::Status ReadEntry(LiteralReader* reader, NpyHeader* header, unsigned* seen) {
  const auto key = reader->TakeString();
  if (!key || !reader->Take(':')) return Bad("its header is not a dictionary");
  const unsigned bit = *key == "descr" ? 1 : *key == "fortran_order" ? 2 : *key == "shape" ? 4 : 0;
  if (bit == 0 || (*seen & bit) != 0) {
    return Bad(absl::StrCat("header entry '", std::string(*key), "' is unknown or repeated"));
  }
  *seen |= bit;
  if (bit == 1) return ReadType(reader, header);
  if (bit == 2) return ReadOrder(reader, header);
  return ReadShape(reader, header);
}

absl::Status ReadDictionary(std::string_view text, NpyHeader* header) {
  LiteralReader reader(text);
  if (!reader.Take('{')) return Bad("its header is not a dictionary");
  unsigned seen = 0;
  while (!reader.Take('}')) {
    CAIRN_RETURN_IF_ERROR(ReadEntry(&reader, header, &seen));
    if (!reader.Take(',')) {
      if (!reader.Take('}')) return Bad("its header does not end");
      break;
    }
  }
  if (!reader.AtEnd()) return Bad("something follows the header's dictionary");
  if (seen != 7) return Bad("its header lacks one of 'descr', 'fortran_order', 'shape'");
  return absl::OkStatus();
}

// Rejects shapes whose size in bytes overflows, so element_count() and sizes in bytes fit an
// int64_t.
absl::Status CheckSize(const NpyHeader& header, uint64_t file_bytes) {
  uint64_t bytes = header.item_bytes;
  bool empty = false;
  for (int64_t size : header.shape) {
    empty |= size == 0;
    if (size != 0 && __builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes)) {
      return Bad(absl::StrCat("shape (", absl::StrJoin(header.shape, ", "), ") is too large"));
    }
  }
  if (empty) bytes = 0;
  const uint64_t there = file_bytes - header.data_offset;
  if (bytes != there) {
    return Bad(absl::StrCat("shape (", absl::StrJoin(header.shape, ", "), ") of ",
                            header.type_name(), " needs ", bytes, " bytes of data, the file has ",
                            there));
  }
  return absl::OkStatus();
}

uint64_t LittleEndian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}

// Calls visit(index, value) for each element, with its C++ type, until visit returns false.
template <typename Item, typename Visit>
void VisitItems(std::string_view bytes, size_t count, Visit visit) {
  for (size_t i = 0; i < count; ++i) {
    Item item;
    std::memcpy(&item, bytes.data() + i * sizeof(Item), sizeof(Item));
    if (!visit(i, item)) return;
  }
}

template <typename Visit>
absl::Status VisitElements(const NpyHeader& header, std::string_view bytes, size_t count,
                           Visit visit) {
  if (!IsKnownType(header.kind, header.item_bytes)) return Bad("unknown type");
  if (bytes.size() != count * header.item_bytes) {
    return Bad(absl::StrCat(bytes.size(), " bytes are not ", count, " elements"));
  }
  if (header.big_endian) {
    std::string swapped(bytes);
    SwapElementBytes(header.item_bytes, &swapped);
    NpyHeader little = header;
    little.big_endian = false;
    return VisitElements(little, swapped, count, visit);
  }
  const bool is_signed = header.kind == 'i';
  if (header.kind == 'f') {
    header.item_bytes == 2   ? VisitItems<Float16>(bytes, count, visit)
    : header.item_bytes == 4 ? VisitItems<float>(bytes, count, visit)
                             : VisitItems<double>(bytes, count, visit);
  } else if (header.item_bytes == 1) {
    is_signed ? VisitItems<int8_t>(bytes, count, visit) : VisitItems<uint8_t>(bytes, count, visit);
  } else if (header.item_bytes == 2) {
    is_signed ? VisitItems<int16_t>(bytes, count, visit)
              : VisitItems<uint16_t>(bytes, count, visit);
  } else if (header.item_bytes == 4) {
    is_signed ? VisitItems<int32_t>(bytes, count, visit)
              : VisitItems<uint32_t>(bytes, count, visit);
  } else {
    is_signed ? VisitItems<int64_t>(bytes, count, visit)
              : VisitItems<uint64_t>(bytes, count, visit);
  }
  return absl::OkStatus();
}

}  // namespace

int64_t NpyHeader::element_count() const {
  int64_t count = 1;
  for (int64_t size : shape) {
    if (size == 0) return 0;
    count *= size;
  }
  return count;
}

std::string NpyHeader::type_name() const {
  if (kind == 'b') return "bool";
  const char* stem = kind == 'f' ? "float" : kind == 'i' ? "int" : "uint";
  return absl::StrCat(stem, item_bytes * 8);
}

absl::StatusOr<NpyHeader> ParseNpyHeader(std::string_view bytes, uint64_t file_bytes) {
  if (bytes.empty()) return Bad("it is empty");
  if (bytes.size() < kMagic.size() + 4 || bytes.substr(0, kMagic.size()) != kMagic) {
    if (bytes.substr(0, 2) == "PK") {
      return Bad("it is a zip file, as .npz files are; save its arrays one by one");
    }
    return Bad(
        absl::StrCat("it begins with bytes ",
                     absl::BytesToHexString({bytes.data(), std::min<size_t>(bytes.size(), 4)}),
                     ", not with NumPy's signature"));
  }
  const int major = static_cast<uint8_t>(bytes[kMagic.size()]);
  if (major < 1 || major > 3) return Bad(absl::StrCat("unknown format version ", major));
  const size_t length_bytes = major == 1 ? 2 : 4;
  const size_t header_begin = kMagic.size() + 2 + length_bytes;
  if (bytes.size() < header_begin) return Bad("it ends within its header");
  const uint64_t length = LittleEndian(bytes.substr(kMagic.size() + 2, length_bytes));
  if (length > bytes.size() - header_begin) return Bad("it ends within its header");
  NpyHeader header;
  header.data_offset = header_begin + length;
  if (header.data_offset > file_bytes) return Bad("it ends within its header");
  CAIRN_RETURN_IF_ERROR(ReadDictionary(bytes.substr(header_begin, length), &header));
  CAIRN_RETURN_IF_ERROR(CheckSize(header, file_bytes));
  return header;
}

void SwapElementBytes(int64_t item_bytes, std::string* bytes) {
  for (auto item = bytes->begin(); item < bytes->end(); item += item_bytes) {
    std::reverse(item, item + item_bytes);
  }
}

std::string FormatNpyHeader(const NpyHeader& header) {
  constexpr size_t kAlignment =
      64;  // The format requires a multiple of 64 as the offset of the data.
  const char order = header.item_bytes == 1 ? '|' : '<';
  std::string dictionary =
      absl::StrCat("{'descr': '", std::string(1, order), std::string(1, header.kind),
                   header.item_bytes, "', 'fortran_order': False, 'shape': (",
                   absl::StrJoin(header.shape, ", "), header.shape.size() == 1 ? "," : "", "), }");
  const size_t unpadded = kMagic.size() + 4 + dictionary.size() + 1;
  dictionary.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  dictionary.push_back('\n');
  std::string result(kMagic);
  result.append({'\x01', '\x00'});
  result.push_back(static_cast<char>(dictionary.size() & 0xff));
  result.push_back(static_cast<char>(dictionary.size() >> 8));
  return result + dictionary;
}

absl::Status DecodeNpyAsFloat(const NpyHeader& header, std::string_view bytes,
                              absl::Span<float> out) {
  return VisitElements(header, bytes, out.size(), [out](size_t i, auto item) {
    out[i] = static_cast<float>(item);
    return true;
  });
}

absl::Status DecodeNpyAsInt32(const NpyHeader& header, std::string_view bytes,
                              absl::Span<int32_t> out) {
  std::optional<size_t> bad;
  CAIRN_RETURN_IF_ERROR(VisitElements(header, bytes, out.size(), [&](size_t i, auto item) {
    // A long double represents every value of the supported types exactly.
    const long double value = item;
    if (!(value >= std::numeric_limits<int32_t>::min() &&
          value <= std::numeric_limits<int32_t>::max()) ||
        value != std::trunc(value)) {
      bad = i;
      return false;
    }
    out[i] = static_cast<int32_t>(item);
    return true;
  }));
  if (bad) {
    return Bad(absl::StrCat("element ", *bad, " is not a whole number of 32 bits"));
  }
  return absl::OkStatus();
}

}  // namespace cairn
