#include "nn/formats/hdf5_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/half.h"
#include "common/status_macros.h"

// The layout is that of the "HDF5 File Format Specification", version 2 (superblock 0, object
// headers of version 1). All numbers are little-endian.
namespace cairn::nn {
namespace {

constexpr std::string_view kSignature("\x89HDF\r\n\x1a\n", 8);
constexpr size_t kSuperblockBytes = 96;
constexpr size_t kEntryBytes = 40;
constexpr uint64_t kUndefined = ~uint64_t{0};

// Nested models nest groups; a tree of nodes has far fewer levels than this.
constexpr int kDepthMax = 64;
constexpr int kLevelMax = 8;
constexpr size_t kPathMax = 4096;

enum MessageType : uint16_t {
  kDataspace = 0x0001,
  kLinkInfo = 0x0002,
  kDatatype = 0x0003,
  kLink = 0x0006,
  kExternalFiles = 0x0007,
  kLayout = 0x0008,
  kFilters = 0x000b,
  kAttribute = 0x000c,
  kContinuation = 0x0010,
  kSymbolTable = 0x0011,
};

template <typename T>
T Number(std::string_view bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

absl::Status Damaged(std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("damaged HDF5 file: ", std::string(what)));
}

absl::Status Unsupported(const std::string& what, std::string_view reason) {
  return absl::InvalidArgumentError(absl::StrCat("HDF5 file: ", what, " ", std::string(reason)));
}

std::string Named(const std::string& path) { return path.empty() ? "the root" : path; }

// Removes the first `count` bytes from `bytes` and returns them.
absl::StatusOr<std::string_view> Take(std::string_view* bytes, uint64_t count, const char* what) {
  if (count > bytes->size()) return Damaged(absl::StrCat(what, " is cut off"));
  const std::string_view taken = bytes->substr(0, count);
  bytes->remove_prefix(count);
  return taken;
}

uint64_t RoundUp(uint64_t bytes) { return (bytes + 7) / 8 * 8; }

// The dimensions of a dataspace message; none for a scalar.
absl::StatusOr<std::vector<int64_t>> ReadShape(const std::string& what, std::string_view message) {
  constexpr size_t kHeaderBytes[] = {0, 8, 4};  // By version.
  if (message.size() < 4) return Damaged("a shape is cut off");
  const uint8_t version = message[0];
  const uint8_t rank = message[1];
  if (version != 1 && version != 2) return Unsupported(what, "has a shape of an unknown version");
  const bool is_null = version == 2 && message[3] == 2;
  if (is_null) return Unsupported(what, "is empty");
  std::vector<int64_t> shape;
  if (message.size() < kHeaderBytes[version] + 8 * size_t{rank}) {
    return Damaged("a shape is cut off");
  }
  for (size_t i = 0; i < rank; ++i) {
    shape.push_back(Number<int64_t>(message, kHeaderBytes[version] + 8 * i));
    if (shape.back() < 0) return Damaged(absl::StrCat(what, " has a negative dimension"));
  }
  return shape;
}

// The size of a tensor; InvalidArgument if it does not fit the largest file.
absl::StatusOr<uint64_t> BytesOf(const std::string& what, const std::vector<int64_t>& shape,
                                 uint64_t element_bytes) {
  int64_t bytes = static_cast<int64_t>(element_bytes);
  for (const int64_t size : shape) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) {
      return Damaged(absl::StrCat(what, " is larger than any file"));
    }
  }
  return static_cast<uint64_t>(bytes);
}

std::vector<float> Floats(std::string_view bytes, size_t element_bytes) {
  std::vector<float> values(bytes.size() / element_bytes);
  if (element_bytes == sizeof(float)) {
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = element_bytes == 2 ? FloatFromFloat16(Number<uint16_t>(bytes, i * 2))
                                   : static_cast<float>(Number<double>(bytes, i * 8));
  }
  return values;
}

}  // namespace

absl::StatusOr<std::string_view> Hdf5File::At(uint64_t address, uint64_t count) const {
  if (address > bytes_.size() || count > bytes_.size() - address) {
    return Damaged("an address is beyond its end");
  }
  return bytes_.substr(address, count);
}

absl::StatusOr<Hdf5File> Hdf5File::Open(std::string_view bytes) {
  if (!absl::StartsWith({bytes.data(), bytes.size()}, {kSignature.data(), kSignature.size()})) {
    return absl::InvalidArgumentError("not an HDF5 file");
  }
  if (bytes.size() < kSuperblockBytes) return Damaged("it ends in its first block");
  if (bytes[8] != 0) {
    return Unsupported("the format",
                       absl::StrCat("has version ", static_cast<int>(bytes[8]),
                                    "; write it with h5py's default, libver='earliest'"));
  }
  if (bytes[13] != 8 || bytes[14] != 8) {
    return Unsupported("the addresses", "do not have 8 bytes");
  }
  if (Number<uint64_t>(bytes, 24) != 0) return Unsupported("the base address", "is not 0");
  Hdf5File file(bytes);
  CAIRN_RETURN_IF_ERROR(file.ReadGroup("", Number<uint64_t>(bytes, 64), 0));
  return file;
}

// An object header is a list of messages, in one or several parts.
absl::StatusOr<Hdf5File::Object> Hdf5File::ReadObject(const std::string& path, uint64_t header) {
  constexpr size_t kPrefixBytes = 16;
  constexpr size_t kMessageHeaderBytes = 8;
  CAIRN_ASSIGN_OR_RETURN(const std::string_view prefix, At(header, kPrefixBytes));
  if (prefix[0] != 1) return Unsupported(Named(path), "has a header of a newer version");
  CAIRN_ASSIGN_OR_RETURN(const std::string_view first,
                         At(header + kPrefixBytes, Number<uint32_t>(prefix, 8)));
  std::vector<std::string_view> parts = {first};
  Object object;
  for (size_t part = 0; part < parts.size(); ++part) {
    std::string_view rest = parts[part];
    while (rest.size() >= kMessageHeaderBytes) {
      CAIRN_ASSIGN_OR_RETURN(const std::string_view head,
                             Take(&rest, kMessageHeaderBytes, "a message"));
      CAIRN_ASSIGN_OR_RETURN(const std::string_view body,
                             Take(&rest, Number<uint16_t>(head, 2), "a message"));
      const Message message = {Number<uint16_t>(head, 0), body};
      constexpr uint8_t kShared = 2;
      if (head[4] & kShared) return Unsupported(Named(path), "shares a part of its header");
      if (message.type == kContinuation) {
        if (body.size() < 16) return Damaged("a continuation is cut off");
        CAIRN_ASSIGN_OR_RETURN(parts.emplace_back(),
                               At(Number<uint64_t>(body, 0), Number<uint64_t>(body, 8)));
      }
      object.is_group = object.is_group || message.type == kSymbolTable;
      object.messages.push_back(message);
      // More messages than the file has room for are in parts that objects share.
      if (++messages_ > bytes_.size() / kMessageHeaderBytes) {
        return Damaged("objects share their headers");
      }
    }
  }
  return object;
}

absl::Status Hdf5File::ReadGroup(const std::string& path, uint64_t header, int depth) {
  // A second link to an object could make a cycle, or a tree that is larger than the file.
  if (const auto [seen, is_new] = seen_.emplace(header, path); !is_new) {
    return Unsupported(Named(path), absl::StrCat("is a link to ", Named(seen->second)));
  }
  if (depth > kDepthMax) return Unsupported(Named(path), "is nested too deeply");
  CAIRN_ASSIGN_OR_RETURN(Object object, ReadObject(path, header));
  const std::vector<Message> messages = object.messages;
  objects_.emplace(path, std::move(object));
  for (const Message& message : messages) {
    if (message.type == kLinkInfo || message.type == kLink) {
      return Unsupported(Named(path),
                         "is a group of a newer version; write it with h5py's defaults");
    }
    if (message.type != kSymbolTable) continue;
    if (message.body.size() < 16) return Damaged("a group is cut off");
    CAIRN_ASSIGN_OR_RETURN(const std::string_view heap, At(Number<uint64_t>(message.body, 8), 32));
    if (heap.substr(0, 4) != "HEAP") return Damaged("a group has no names");
    CAIRN_ASSIGN_OR_RETURN(const std::string_view names,
                           At(Number<uint64_t>(heap, 24), Number<uint64_t>(heap, 8)));
    CAIRN_RETURN_IF_ERROR(
        ReadEntries(path, Number<uint64_t>(message.body, 0), names, depth, kLevelMax));
  }
  return absl::OkStatus();
}

// A group's members are the leaves of a tree of nodes.
absl::Status Hdf5File::ReadEntries(const std::string& path, uint64_t node, std::string_view names,
                                   int depth, int level) {
  if (!seen_.emplace(node, path).second || level < 0) {
    return Damaged(absl::StrCat("the members of ", Named(path), " are in a cycle"));
  }
  constexpr size_t kNodeHeaderBytes = 24;
  constexpr size_t kLeafHeaderBytes = 8;
  CAIRN_ASSIGN_OR_RETURN(const std::string_view leaf, At(node, kLeafHeaderBytes));
  if (leaf.substr(0, 4) == "SNOD") {
    const size_t count = Number<uint16_t>(leaf, 6);
    CAIRN_ASSIGN_OR_RETURN(const std::string_view entries,
                           At(node + kLeafHeaderBytes, count * kEntryBytes));
    for (size_t i = 0; i < count; ++i) {
      CAIRN_RETURN_IF_ERROR(
          ReadEntry(path, entries.substr(i * kEntryBytes, kEntryBytes), names, depth));
    }
    return absl::OkStatus();
  }
  CAIRN_ASSIGN_OR_RETURN(const std::string_view head, At(node, kNodeHeaderBytes));
  if (head.substr(0, 4) != "TREE" || head[4] != 0) {
    return Damaged(absl::StrCat("the members of ", Named(path), " are not in a tree"));
  }
  // A key before each child and after the last one.
  const size_t count = Number<uint16_t>(head, 6);
  CAIRN_ASSIGN_OR_RETURN(const std::string_view children,
                         At(node + kNodeHeaderBytes, 16 * count + 8));
  for (size_t i = 0; i < count; ++i) {
    const uint64_t child = Number<uint64_t>(children, 16 * i + 8);
    CAIRN_RETURN_IF_ERROR(ReadEntries(path, child, names, depth, level - 1));
  }
  return absl::OkStatus();
}

absl::Status Hdf5File::ReadEntry(const std::string& path, std::string_view entry,
                                 std::string_view names, int depth) {
  const uint64_t offset = Number<uint64_t>(entry, 0);
  if (offset >= names.size()) return Damaged("a name is beyond its list");
  const std::string_view rest = names.substr(offset);
  const size_t end = rest.find('\0');
  if (end == 0 || end == std::string_view::npos) return Damaged("a name has no end");
  const std::string name(rest.substr(0, end));
  const std::string child = path.empty() ? name : absl::StrCat(path, "/", name);
  if (child.size() > kPathMax) return Damaged("a name is too long");
  constexpr uint32_t kSoftLink = 2;
  if (Number<uint32_t>(entry, 16) == kSoftLink) return Unsupported(child, "is a link");
  if (objects_.contains(child)) return Damaged(absl::StrCat(child, " is there twice"));
  return ReadGroup(child, Number<uint64_t>(entry, 8), depth + 1);
}

std::vector<std::string> Hdf5File::DataSets() const {
  std::vector<std::string> paths;
  for (const auto& [path, object] : objects_) {
    if (!object.is_group) paths.push_back(path);
  }
  return paths;
}

bool Hdf5File::HasDataSet(const std::string& path) const {
  const auto found = objects_.find(path);
  return found != objects_.end() && !found->second.is_group;
}

absl::StatusOr<Hdf5File::Type> Hdf5File::ReadType(const std::string& what,
                                                  std::string_view message) {
  if (message.size() < 8) return Damaged("a type is cut off");
  constexpr uint8_t kFloatClass = 1, kStringClass = 3, kVariableClass = 9;
  const uint8_t type_class = message[0] & 15;
  const uint8_t flags = message[1];
  Type type;
  type.bytes = Number<uint32_t>(message, 4);
  if (type_class == kStringClass) {
    type.kind = Type::Kind::kString;
    return type;
  }
  if (type_class == kVariableClass && (flags & 15) == 1 && type.bytes == 16) {
    type.kind = Type::Kind::kVariableString;
    return type;
  }
  const bool is_float = type_class == kFloatClass && message.size() >= 20;
  if (!is_float) return Unsupported(what, "has elements of an unknown type");
  if (flags & 0x41) return Unsupported(what, "is big-endian");
  // Exponent: place and size; fraction: place and size; as IEEE 754 has them.
  const std::string_view layout = message.substr(12, 4);
  const std::string_view ieee = type.bytes == 2   ? std::string_view("\x0a\x05\x00\x0a", 4)
                                : type.bytes == 4 ? std::string_view("\x17\x08\x00\x17", 4)
                                                  : std::string_view("\x34\x0b\x00\x34", 4);
  const bool is_known = type.bytes == 2 || type.bytes == 4 || type.bytes == 8;
  if (!is_known || layout != ieee) {
    return Unsupported(what, "is not of float16, float32 or float64");
  }
  return type;
}

// The elements of a data set, whose size must be `size`.
absl::StatusOr<std::string_view> Hdf5File::Contents(const std::string& path, const Object& object,
                                                    uint64_t size) const {
  for (const Message& message : object.messages) {
    const std::string_view body = message.body;
    if (message.type == kExternalFiles) return Unsupported(path, "is stored in another file");
    if (message.type == kFilters) return Unsupported(path, "is compressed");
    if (message.type != kLayout) continue;
    constexpr uint8_t kVersion = 3, kCompact = 0, kContiguous = 1;
    if (body.size() < 18 && !(body.size() >= 4 && body[1] == kCompact)) {
      return Damaged(absl::StrCat(path, " has a layout that is cut off"));
    }
    if (body[0] != kVersion || (body[1] != kCompact && body[1] != kContiguous)) {
      return Unsupported(path, "is stored in chunks; write it without compression");
    }
    const bool is_compact = body[1] == kCompact;
    const uint64_t stored = is_compact ? Number<uint16_t>(body, 2) : Number<uint64_t>(body, 10);
    if (stored != size) {
      return Damaged(absl::StrCat(path, " has ", stored, " bytes, not ", size));
    }
    if (is_compact) {
      if (body.size() < 4 + stored) return Damaged(absl::StrCat(path, " is cut off"));
      return body.substr(4, stored);
    }
    if (stored == 0) return std::string_view();
    if (Number<uint64_t>(body, 2) == kUndefined) return Unsupported(path, "was never written");
    return At(Number<uint64_t>(body, 2), stored);
  }
  return Unsupported(path, "has no layout");
}

absl::StatusOr<NamedTensor> Hdf5File::Read(const std::string& path) const {
  const auto found = objects_.find(path);
  if (found == objects_.end()) return Unsupported(path, "is missing");
  NamedTensor tensor;
  tensor.name = path;
  Type type;
  bool has_shape = false;
  for (const Message& message : found->second.messages) {
    if (message.type == kDataspace) {
      CAIRN_ASSIGN_OR_RETURN(tensor.shape, ReadShape(path, message.body));
      has_shape = true;
    }
    if (message.type == kDatatype) {
      CAIRN_ASSIGN_OR_RETURN(type, ReadType(path, message.body));
    }
  }
  if (!has_shape || type.bytes == 0) return Unsupported(path, "is not a data set");
  if (type.kind != Type::Kind::kFloat) return Unsupported(path, "has no numbers but strings");
  CAIRN_ASSIGN_OR_RETURN(const uint64_t size, BytesOf(path, tensor.shape, type.bytes));
  CAIRN_ASSIGN_OR_RETURN(const std::string_view contents, Contents(path, found->second, size));
  tensor.values = Floats(contents, type.bytes);
  return tensor;
}

// A string in a global heap: its length, the heap's address and the string's number there.
absl::StatusOr<std::string> Hdf5File::HeapString(std::string_view reference) const {
  constexpr size_t kHeapHeaderBytes = 16;
  const uint32_t length = Number<uint32_t>(reference, 0);
  const uint64_t address = Number<uint64_t>(reference, 4);
  const uint32_t wanted = Number<uint32_t>(reference, 12);
  if (length == 0) return std::string();
  CAIRN_ASSIGN_OR_RETURN(const std::string_view head, At(address, kHeapHeaderBytes));
  if (head.substr(0, 4) != "GCOL") return Damaged("a string is not in a heap");
  const uint64_t bytes = Number<uint64_t>(head, 8);
  if (bytes < kHeapHeaderBytes) return Damaged("a heap is cut off");
  CAIRN_ASSIGN_OR_RETURN(std::string_view rest, At(address, bytes));
  rest.remove_prefix(kHeapHeaderBytes);
  while (rest.size() >= kHeapHeaderBytes) {
    CAIRN_ASSIGN_OR_RETURN(const std::string_view object, Take(&rest, kHeapHeaderBytes, "a heap"));
    const uint16_t index = Number<uint16_t>(object, 0);
    const uint64_t size = Number<uint64_t>(object, 8);
    if (index == 0) break;  // The free space at the end.
    if (size > rest.size()) return Damaged("a heap's string is cut off");
    if (index == wanted) return std::string(rest.substr(0, std::min<uint64_t>(size, length)));
    rest.remove_prefix(std::min<uint64_t>(RoundUp(size), rest.size()));
  }
  return Damaged("a string is missing from its heap");
}

absl::StatusOr<std::vector<std::string>> Hdf5File::Strings(const std::string& path,
                                                           const std::string& attribute) const {
  const auto found = objects_.find(path);
  if (found == objects_.end()) return Unsupported(Named(path), "is missing");
  for (const Message& message : found->second.messages) {
    if (message.type != kAttribute) continue;
    std::string_view rest = message.body;
    CAIRN_ASSIGN_OR_RETURN(const std::string_view head, Take(&rest, 8, "an attribute"));
    const uint8_t version = head[0];
    if (version < 1 || version > 3) continue;
    // Newer versions have no padding; version 3 has a byte for the encoding of the name.
    const bool is_padded = version == 1;
    if (version == 3) CAIRN_RETURN_IF_ERROR(Take(&rest, 1, "an attribute").status());
    std::string_view parts[3];  // Name, type and shape.
    for (int part = 0; part < 3; ++part) {
      const uint64_t size = Number<uint16_t>(head, 2 + 2 * part);
      CAIRN_ASSIGN_OR_RETURN(parts[part],
                             Take(&rest, is_padded ? RoundUp(size) : size, "an attribute"));
      parts[part] = parts[part].substr(0, size);
    }
    if (parts[0].substr(0, parts[0].find('\0')) != attribute) continue;
    const std::string what = absl::StrCat("attribute ", attribute, " of ", Named(path));
    CAIRN_ASSIGN_OR_RETURN(const auto shape, ReadShape(what, parts[2]));
    // NumPy's empty list, which Keras writes for a layer without weights, is one of numbers.
    if (std::count(shape.begin(), shape.end(), 0) > 0) return std::vector<std::string>();
    CAIRN_ASSIGN_OR_RETURN(const Type type, ReadType(what, parts[1]));
    if (type.kind == Type::Kind::kFloat || type.bytes == 0) {
      return Unsupported(what, "is not a string");
    }
    CAIRN_ASSIGN_OR_RETURN(const uint64_t size, BytesOf(what, shape, type.bytes));
    CAIRN_ASSIGN_OR_RETURN(std::string_view elements, Take(&rest, size, "an attribute"));
    std::vector<std::string> strings;
    size_t total = 0;
    while (!elements.empty()) {
      CAIRN_ASSIGN_OR_RETURN(const std::string_view element,
                             Take(&elements, type.bytes, "an attribute"));
      if (type.kind == Type::Kind::kString) {
        strings.emplace_back(element.substr(0, element.find('\0')));
      } else {
        CAIRN_ASSIGN_OR_RETURN(strings.emplace_back(), HeapString(element));
      }
      // All elements may name the same string, which could be as long as the file.
      total += strings.back().size();
      if (total > bytes_.size()) return Damaged(absl::StrCat(what, " is larger than the file"));
    }
    return strings;
  }
  return std::vector<std::string>();
}

}  // namespace cairn::nn
