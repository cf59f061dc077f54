#include "cluster/frame.h"

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "cluster/shared_memory/checksum.h"
#include "common/check.h"

#if defined(CAIRN_THREAD_SANITIZER)
extern "C" void AnnotateIgnoreReadsBegin(const char* file, int line);
extern "C" void AnnotateIgnoreReadsEnd(const char* file, int line);
#endif

namespace cairn::cluster {
namespace {

// Disables ThreadSanitizer's checks of this thread's reads while it exists. gRPC's threads write
// the slices and pass them on in a way that ThreadSanitizer does not see.
class UncheckedReads {
 public:
#if defined(CAIRN_THREAD_SANITIZER)
  UncheckedReads() { AnnotateIgnoreReadsBegin(__FILE__, __LINE__); }
  ~UncheckedReads() { AnnotateIgnoreReadsEnd(__FILE__, __LINE__); }
#else
  UncheckedReads() {}
#endif
  UncheckedReads(const UncheckedReads&) = delete;
  UncheckedReads& operator=(const UncheckedReads&) = delete;
};

static_assert(std::endian::native == std::endian::little, "frames are little endian");

constexpr uint32_t kMagic = 0x32726943;  // "Cir2"
constexpr size_t kChecksumBytes = sizeof(uint64_t);
// A header consists mainly of block ids; 100,000 of them are far smaller.
constexpr size_t kHeaderBytesMax = size_t{4} << 20;
constexpr size_t kTensorsMax = size_t{1} << 18;
constexpr uint32_t kPayloadIsShared = 1;

struct Prefix {
  uint32_t magic = kMagic;
  uint32_t header_bytes = 0;
  uint64_t payload_bytes = 0;
  uint32_t tensors = 0;
  uint32_t flags = 0;
  uint64_t memory = 0;  // 0 if no shared memory is used.
  uint64_t payload_offset = 0;
  uint64_t reply_offset = 0;
  uint64_t reply_bytes = 0;
};
static_assert(sizeof(Prefix) == 56);

// An entry of the table.
struct Entry {
  uint64_t bytes = 0;
  uint64_t checksum = 0;
};
static_assert(sizeof(Entry) == 16);

constexpr size_t kOverheadBytes = sizeof(Prefix) + kChecksumBytes;

// The size of everything but the payload. Cannot overflow, whatever the prefix contains.
uint64_t HeadBytes(const Prefix& prefix) {
  return kOverheadBytes + uint64_t{prefix.header_bytes} + prefix.tensors * sizeof(Entry);
}

// grpc::Slice has no mutable access; the slice is not shared before it is sent.
uint8_t* Writable(grpc::Slice& slice) { return const_cast<uint8_t*>(slice.begin()); }

void DropOwner(void* owner) { delete static_cast<std::shared_ptr<const void>*>(owner); }

grpc::Slice SliceOf(FramePiece piece) {
  if (piece.owner == nullptr) {
    return grpc::Slice(piece.data, piece.bytes, grpc::Slice::STATIC_SLICE);
  }
  return grpc::Slice(const_cast<void*>(piece.data), piece.bytes, &DropOwner,
                     new std::shared_ptr<const void>(std::move(piece.owner)));
}

absl::Status CheckSize(size_t header_bytes, size_t tensors, size_t payload_bytes) {
  if (header_bytes > kHeaderBytesMax || tensors > kTensorsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("a frame's header of ", header_bytes, " bytes for ", tensors,
                     " tensors is larger than the limits of ", kHeaderBytesMax, " and ",
                     kTensorsMax, ": name fewer blocks"));
  }
  if (payload_bytes > kFrameBytesMax - kOverheadBytes - header_bytes - tensors * sizeof(Entry)) {
    return absl::InvalidArgumentError(absl::StrCat("a frame with ", payload_bytes,
                                                   " bytes of tensors is larger than the limit of ",
                                                   kFrameBytesMax, ": send fewer blocks at once"));
  }
  return absl::OkStatus();
}

// Copies the tensors to `to`, one after another, and returns their table.
std::vector<Entry> CopyTensors(const std::vector<FramePiece>& pieces, uint8_t* to) {
  std::vector<Entry> table;
  table.reserve(pieces.size());
  for (const FramePiece& piece : pieces) {
    Checksum checksum;
    checksum.CopyAndAdd(to, piece.data, piece.bytes);
    to += piece.bytes;
    table.push_back({piece.bytes, checksum.Digest()});
  }
  return table;
}

// Appends slices of the tensors and returns their table.
std::vector<Entry> AddTensors(std::vector<FramePiece> pieces, std::vector<grpc::Slice>* slices) {
  std::vector<Entry> table;
  table.reserve(pieces.size());
  for (FramePiece& piece : pieces) {
    Checksum checksum;
    const size_t bytes = piece.bytes;
    if (piece.borrowed && bytes > 0) {
      grpc::Slice copy(bytes);
      checksum.CopyAndAdd(Writable(copy), piece.data, bytes);
      slices->push_back(std::move(copy));
    } else if (bytes > 0) {
      checksum.Add(piece.data, bytes);
      slices->push_back(SliceOf(std::move(piece)));
    }
    table.push_back({bytes, checksum.Digest()});
  }
  return table;
}

grpc::Slice MakeHead(const Prefix& prefix, const google::protobuf::MessageLite& header,
                     const std::vector<Entry>& table) {
  grpc::Slice head(HeadBytes(prefix));
  uint8_t* to = Writable(head);
  std::memcpy(to, &prefix, sizeof(Prefix));
  to = header.SerializeWithCachedSizesToArray(to + sizeof(Prefix));
  const size_t table_bytes = table.size() * sizeof(Entry);
  if (table_bytes > 0) std::memcpy(to, table.data(), table_bytes);
  to += table_bytes;
  Checksum checksum;
  checksum.Add(head.begin(), head.size() - kChecksumBytes);
  const uint64_t digest = checksum.Digest();
  std::memcpy(to, &digest, sizeof(digest));
  return head;
}

}  // namespace

Frame Frame::FromBytes(std::string_view bytes) {
  const grpc::Slice slice(bytes.data(), bytes.size());
  return Frame(std::make_shared<grpc::ByteBuffer>(&slice, 1));
}

size_t Frame::bytes() const {
  return buffer_ != nullptr && buffer_->Valid() ? buffer_->Length() : 0;
}

std::string Frame::ToBytes() const {
  std::string bytes;
  if (this->bytes() == 0) return bytes;
  std::vector<grpc::Slice> slices;
  CAIRN_CHECK(buffer_->Dump(&slices).ok());
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

absl::StatusOr<Frame> EncodeFrame(const google::protobuf::MessageLite& header,
                                  std::vector<FramePiece> pieces, const FrameRoom& room) {
  Prefix prefix;
  const size_t header_bytes = header.ByteSizeLong();
  for (const FramePiece& piece : pieces) prefix.payload_bytes += piece.bytes;
  if (absl::Status status = CheckSize(header_bytes, pieces.size(), prefix.payload_bytes);
      !status.ok()) {
    return status;
  }
  if (room.in_process) {
    return Frame(std::make_shared<const Frame::Parts>(
        Frame::Parts{header.SerializeAsString(), std::move(pieces)}));
  }
  prefix.header_bytes = static_cast<uint32_t>(header_bytes);
  prefix.tensors = static_cast<uint32_t>(pieces.size());
  if (room.reply.IsInside()) {
    prefix.memory = room.reply.memory->token();
    prefix.reply_offset = room.reply.offset;
    prefix.reply_bytes = room.reply.bytes;
  }
  const bool shared = prefix.payload_bytes > 0 && room.payload.IsInside() &&
                      room.payload.bytes >= prefix.payload_bytes;
  if (shared) {
    prefix.memory = room.payload.memory->token();
    prefix.payload_offset = room.payload.offset;
    prefix.flags = kPayloadIsShared;
  }
  // The head is first, but it is made last because it contains the checksums.
  std::vector<grpc::Slice> slices(1);
  slices.reserve(1 + pieces.size());
  const std::vector<Entry> table =
      shared ? CopyTensors(pieces, room.payload.data()) : AddTensors(std::move(pieces), &slices);
  slices.front() = MakeHead(prefix, header, table);
  return Frame(std::make_shared<grpc::ByteBuffer>(slices.data(), slices.size()));
}

// A cursor over gRPC's slices and, if the payload is shared, over the shared memory. Or over the
// pieces of a frame within this process.
struct FrameReader::State {
  std::shared_ptr<const Frame::Parts> parts;
  std::vector<grpc::Slice> slices;
  size_t slice = 0;   // The current slice.
  size_t offset = 0;  // The position in it.
  SharedSpan shared;  // The unread part of a shared payload.
  FrameRoom reply_room;
  std::vector<Entry> table;
  size_t next = 0;  // The next tensor.
  size_t bytes_left = 0;

  // Copies from the slices and returns the checksum of the copy. The caller has checked that enough
  // bytes are left.
  uint64_t CopyFromSlices(void* destination, size_t bytes) {
    const UncheckedReads slices_are_grpcs;
    Checksum checksum;
    auto* to = static_cast<uint8_t*>(destination);
    while (bytes > 0) {
      const grpc::Slice& from = slices[slice];
      const size_t part = std::min(bytes, from.size() - offset);
      checksum.CopyAndAdd(to, from.begin() + offset, part);
      to += part;
      bytes -= part;
      offset += part;
      if (offset == from.size()) {
        ++slice;
        offset = 0;
      }
    }
    return checksum.Digest();
  }

  // The same for the payload, wherever it is.
  uint64_t CopyPayload(void* destination, size_t bytes) {
    if (shared.memory == nullptr) return CopyFromSlices(destination, bytes);
    Checksum checksum;
    checksum.CopyAndAdd(destination, shared.data(), bytes);
    shared.offset += bytes;
    shared.bytes -= bytes;
    return checksum.Digest();
  }

  absl::Status FindShared(const Prefix& prefix, const FindMemory& find);
  absl::Status ReadHead(const Prefix& prefix, std::string* header);
};

namespace {

absl::Status Corrupted(const char* what, uint64_t bytes) {
  return absl::DataLossError(
      absl::StrCat(what, " of ", bytes, " bytes was corrupted in transit: wrong checksum"));
}

absl::Status CheckPrefix(const Prefix& prefix, size_t frame_bytes) {
  if (prefix.magic != kMagic) {
    return absl::DataLossError(absl::StrCat("not a frame: it begins with 0x",
                                            absl::Hex(prefix.magic), ", not 0x", absl::Hex(kMagic),
                                            "; is the sender another program?"));
  }
  const uint64_t head_bytes = HeadBytes(prefix);
  const bool shared = (prefix.flags & kPayloadIsShared) != 0;
  if (head_bytes > frame_bytes || frame_bytes - head_bytes != (shared ? 0 : prefix.payload_bytes)) {
    return absl::DataLossError(absl::StrCat("a frame of ", frame_bytes, " bytes declares ",
                                            head_bytes, " bytes of head and ", prefix.payload_bytes,
                                            " bytes of tensors"));
  }
  return CheckSize(prefix.header_bytes, prefix.tensors, prefix.payload_bytes);
}

}  // namespace

// Requires that the head is complete. The checksum is computed from the copies, which are used
// afterwards.
absl::Status FrameReader::State::ReadHead(const Prefix& prefix, std::string* header) {
  Checksum checksum;
  checksum.Add(&prefix, sizeof(prefix));
  header->resize(prefix.header_bytes);
  CopyFromSlices(header->data(), header->size());
  checksum.Add(header->data(), header->size());
  table.resize(prefix.tensors);
  CopyFromSlices(table.data(), table.size() * sizeof(Entry));
  checksum.Add(table.data(), table.size() * sizeof(Entry));
  uint64_t stored;
  CopyFromSlices(&stored, sizeof(stored));
  if (stored != checksum.Digest()) return Corrupted("a frame's head", HeadBytes(prefix));
  for (const Entry& entry : table) {
    if (entry.bytes > prefix.payload_bytes - bytes_left) {
      return absl::DataLossError("a frame's tensors are larger than its prefix declares");
    }
    bytes_left += entry.bytes;
  }
  if (bytes_left == prefix.payload_bytes) return absl::OkStatus();
  return absl::DataLossError("a frame's tensors are smaller than its prefix declares");
}

absl::Status FrameReader::State::FindShared(const Prefix& prefix, const FindMemory& find) {
  if (prefix.memory == 0) return absl::OkStatus();
  const std::shared_ptr<SharedMemory> memory = find != nullptr ? find(prefix.memory) : nullptr;
  const SharedSpan reply = {memory, prefix.reply_offset, prefix.reply_bytes};
  if (prefix.reply_bytes > 0 && reply.IsInside()) reply_room.payload = reply;
  if ((prefix.flags & kPayloadIsShared) == 0) return absl::OkStatus();
  shared = {memory, prefix.payload_offset, prefix.payload_bytes};
  if (shared.IsInside()) return absl::OkStatus();
  return absl::DataLossError("a frame's tensors are in shared memory that this task does not know");
}

FrameReader::FrameReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
FrameReader::FrameReader(FrameReader&&) noexcept = default;
FrameReader& FrameReader::operator=(FrameReader&&) noexcept = default;
FrameReader::~FrameReader() = default;

absl::Status FrameReader::ParseHeader(const std::string& bytes,
                                      google::protobuf::MessageLite* header) {
  if (header->ParseFromString(bytes)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a frame's header of ", bytes.size(),
                                                 " bytes is not a ", header->GetTypeName()));
}

FrameReader FrameReader::OfParts(std::shared_ptr<const Frame::Parts> parts) {
  auto state = std::make_unique<State>();
  for (const FramePiece& piece : parts->pieces) {
    state->table.push_back({piece.bytes});
    state->bytes_left += piece.bytes;
  }
  state->reply_room.in_process = true;
  state->parts = std::move(parts);
  return FrameReader(std::move(state));
}

absl::StatusOr<FrameReader> FrameReader::Open(Frame frame, google::protobuf::MessageLite* header) {
  if (frame.parts() != nullptr) {
    if (auto parsed = ParseHeader(frame.parts()->header, header); !parsed.ok()) return parsed;
    return OfParts(frame.parts());
  }
  const size_t frame_bytes = frame.bytes();
  if (frame_bytes < kOverheadBytes) {
    return absl::DataLossError(absl::StrCat("a frame of ", frame_bytes,
                                            " bytes is shorter than the ", kOverheadBytes,
                                            " of the smallest frame"));
  }
  if (frame_bytes > kFrameBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a frame of ", frame_bytes, " bytes is larger than the limit of ", kFrameBytesMax));
  }
  auto state = std::make_unique<State>();
  if (!frame.buffer()->Dump(&state->slices).ok()) {
    return absl::DataLossError("a frame could not be decompressed");
  }
  Prefix prefix;
  state->CopyFromSlices(&prefix, sizeof(prefix));
  if (absl::Status status = CheckPrefix(prefix, frame_bytes); !status.ok()) return status;
  std::string header_bytes;
  if (absl::Status status = state->ReadHead(prefix, &header_bytes); !status.ok()) return status;
  if (absl::Status status = state->FindShared(prefix, frame.find_memory()); !status.ok()) {
    return status;
  }
  if (auto parsed = ParseHeader(header_bytes, header); !parsed.ok()) return parsed;
  return FrameReader(std::move(state));
}

size_t FrameReader::bytes_left() const { return state_->bytes_left; }

const FrameRoom& FrameReader::reply_room() const { return state_->reply_room; }

absl::Status FrameReader::Read(absl::Span<float> destination) {
  return ReadTensor(destination.data(), destination.size() * sizeof(float));
}

absl::Status FrameReader::ReadBytes(absl::Span<char> destination) {
  return ReadTensor(destination.data(), destination.size());
}

absl::Status FrameReader::ReadTensor(void* destination, size_t bytes) {
  if (state_->next == state_->table.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a tensor of ", bytes, " bytes is expected in a frame that has none left"));
  }
  const Entry& entry = state_->table[state_->next];
  if (bytes != entry.bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a tensor of ", bytes, " bytes is expected where a frame has one of ", entry.bytes));
  }
  const size_t index = state_->next++;
  state_->bytes_left -= bytes;
  if (state_->parts != nullptr) {
    if (bytes > 0) std::memcpy(destination, state_->parts->pieces[index].data, bytes);
    return absl::OkStatus();
  }
  if (state_->CopyPayload(destination, bytes) == entry.checksum) return absl::OkStatus();
  return Corrupted("a tensor", bytes);
}

absl::Status FrameReader::ExpectEnd() const {
  if (state_->bytes_left == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a frame has ", state_->bytes_left, " bytes of tensors too many"));
}

}  // namespace cairn::cluster
