#include "nn/formats/sorted_table.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/formats/crc32c.h"

namespace cairn::nn {
namespace {

constexpr uint64_t kMagic = 0xdb4775248b80fb57;
constexpr size_t kFooterBytes = 48;
// Behind a block: the kind of its compression, and a checksum of both.
constexpr size_t kTrailerBytes = 5;
constexpr size_t kBlockBytes = 4096;
constexpr size_t kRestartInterval = 16;
// A key may repeat the whole of the one before it in three bytes, so long keys are a bomb.
constexpr size_t kKeyBytesMax = 4096;

absl::Status Damaged(const char* what) {
  return absl::InvalidArgumentError(absl::StrCat("the index is damaged: ", what));
}

template <typename T>
T ReadNumber(std::string_view bytes) {
  T number;
  std::memcpy(&number, bytes.data(), sizeof(number));
  return number;
}

template <typename T>
void Append(std::string* bytes, T number) {
  bytes->append(reinterpret_cast<const char*>(&number), sizeof(number));
}

// Takes a number from the front of `bytes`; false if there is none.
bool TakeVarint(std::string_view* bytes, uint64_t* number) {
  *number = 0;
  for (int shift = 0; shift < 64 && !bytes->empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes->front());
    bytes->remove_prefix(1);
    *number |= static_cast<uint64_t>(byte & 127) << shift;
    if (byte < 128) return true;
  }
  return false;
}

void AppendVarint(std::string* bytes, uint64_t number) {
  for (; number >= 128; number >>= 7) bytes->push_back(static_cast<char>(number | 128));
  bytes->push_back(static_cast<char>(number));
}

// A block's place in the file. Takes it from the front of `handle`.
absl::StatusOr<std::string_view> ReadBlock(std::string_view file, std::string_view* handle) {
  uint64_t offset, size;
  if (!TakeVarint(handle, &offset) || !TakeVarint(handle, &size)) {
    return Damaged("a block has no place");
  }
  if (offset > file.size() || size > file.size() - offset ||
      file.size() - offset - size < kTrailerBytes) {
    return Damaged("a block is beyond the end of the file");
  }
  const std::string_view block = file.substr(offset, size + 1);
  if (ReadNumber<uint32_t>(file.substr(offset + size + 1)) != MaskedCrc(Crc32c(block))) {
    return Damaged("the checksum of a block is wrong");
  }
  if (block.back() != 0) {
    return absl::InvalidArgumentError(
        "the index is compressed (Snappy), which is not read: save the checkpoint with TensorFlow "
        "2");
  }
  return block.substr(0, size);
}

// The keys of a block in order.
class BlockReader {
 public:
  static absl::StatusOr<BlockReader> Open(std::string_view block) {
    if (block.size() < sizeof(uint32_t)) return Damaged("a block is too short");
    const auto restarts = ReadNumber<uint32_t>(block.substr(block.size() - sizeof(uint32_t)));
    if (restarts >= block.size() / sizeof(uint32_t)) {
      return Damaged("a block has too many restarts");
    }
    return BlockReader(block.substr(0, block.size() - (restarts + 1) * sizeof(uint32_t)));
  }

  bool at_end() const { return rest_.empty(); }

  // Sets key() and value().
  absl::Status Next() {
    uint64_t shared, own, value;
    if (!TakeVarint(&rest_, &shared) || !TakeVarint(&rest_, &own) || !TakeVarint(&rest_, &value) ||
        shared > key_.size() || own > rest_.size() || value > rest_.size() - own) {
      return Damaged("a key is beyond its block");
    }
    if (shared + own > kKeyBytesMax) return Damaged("a key has more than 4 KiB");
    key_.resize(shared);
    key_.append(rest_.substr(0, own));
    value_ = rest_.substr(own, value);
    rest_.remove_prefix(own + value);
    return absl::OkStatus();
  }

  const std::string& key() const { return key_; }
  std::string_view value() const { return value_; }

 private:
  explicit BlockReader(std::string_view entries) : rest_(entries) {}

  std::string_view rest_;
  std::string key_;
  std::string_view value_;
};

class BlockWriter {
 public:
  void Add(const std::string& key, std::string_view value) {
    size_t shared = 0;
    if (count_++ % kRestartInterval == 0) {
      restarts_.push_back(bytes_.size());
    } else {
      while (shared < last_.size() && shared < key.size() && last_[shared] == key[shared]) ++shared;
    }
    AppendVarint(&bytes_, shared);
    AppendVarint(&bytes_, key.size() - shared);
    AppendVarint(&bytes_, value.size());
    bytes_.append(key, shared);
    bytes_.append(value);
    last_ = key;
  }

  size_t size() const { return bytes_.size(); }
  const std::string& last_key() const { return last_; }

  // Appends the block to the file, begins another one, and returns the place of the first.
  std::string Finish(std::string* file) {
    // A block without entries has a restart too.
    if (restarts_.empty()) restarts_.push_back(0);
    for (const uint32_t restart : restarts_) Append(&bytes_, restart);
    Append<uint32_t>(&bytes_, restarts_.size());
    std::string place;
    AppendVarint(&place, file->size());
    AppendVarint(&place, bytes_.size());
    bytes_.push_back(0);
    Append(&bytes_, MaskedCrc(Crc32c(bytes_)));
    file->append(bytes_);
    *this = BlockWriter();
    return place;
  }

 private:
  std::string bytes_;
  std::string last_;
  std::vector<uint32_t> restarts_;
  size_t count_ = 0;
};

}  // namespace

bool IsSortedTable(std::string_view file) {
  return file.size() >= kFooterBytes &&
         ReadNumber<uint64_t>(file.substr(file.size() - sizeof(kMagic))) == kMagic;
}

absl::StatusOr<std::map<std::string, std::string>> ReadSortedTable(std::string_view file) {
  if (!IsSortedTable(file)) return Damaged("it does not end as a table");
  std::string_view footer = file.substr(file.size() - kFooterBytes);
  const std::string_view blocks = file.substr(0, file.size() - kFooterBytes);
  // The first block is for statistics.
  uint64_t unused;
  if (!TakeVarint(&footer, &unused) || !TakeVarint(&footer, &unused)) {
    return Damaged("it has no footer");
  }
  CAIRN_ASSIGN_OR_RETURN(const std::string_view index_block, ReadBlock(blocks, &footer));
  CAIRN_ASSIGN_OR_RETURN(BlockReader index, BlockReader::Open(index_block));
  std::map<std::string, std::string> entries;
  // Blocks that are read twice would make a small file large.
  uint64_t bytes = 0;
  while (!index.at_end()) {
    CAIRN_RETURN_IF_ERROR(index.Next());
    std::string_view handle = index.value();
    CAIRN_ASSIGN_OR_RETURN(const std::string_view data, ReadBlock(blocks, &handle));
    bytes += data.size();
    if (bytes > blocks.size()) return Damaged("blocks overlap");
    CAIRN_ASSIGN_OR_RETURN(BlockReader block, BlockReader::Open(data));
    while (!block.at_end()) {
      CAIRN_RETURN_IF_ERROR(block.Next());
      if (!entries.empty() && block.key() <= entries.rbegin()->first) {
        return Damaged("its keys are out of order");
      }
      entries.emplace_hint(entries.end(), block.key(), block.value());
    }
  }
  return entries;
}

std::string WriteSortedTable(const std::map<std::string, std::string>& entries) {
  std::string file;
  BlockWriter block, index;
  const auto finish_block = [&] {
    const std::string last = block.last_key();
    index.Add(last, block.Finish(&file));
  };
  for (const auto& [key, value] : entries) {
    block.Add(key, value);
    if (block.size() >= kBlockBytes) finish_block();
  }
  if (block.size() > 0) finish_block();
  std::string footer = BlockWriter().Finish(&file);
  footer += index.Finish(&file);
  footer.resize(kFooterBytes - sizeof(kMagic));
  Append(&footer, kMagic);
  return file + footer;
}

}  // namespace cairn::nn
