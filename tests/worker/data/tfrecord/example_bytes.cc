#include "tests/worker/data/tfrecord/example_bytes.h"

#include <zlib.h>

namespace cairn::testing {
namespace {

// Castagnoli's CRC, bit by bit, masked.
uint32_t Checksum(const std::string& bytes) {
  uint32_t crc = 0xffffffff;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0);
  }
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

std::string LittleEndian(uint64_t value, int bytes) {
  std::string result;
  for (int i = 0; i < bytes; ++i) result.push_back(static_cast<char>(value >> (8 * i)));
  return result;
}

}  // namespace

std::string RecordBytes(const std::string& contents) {
  const std::string length = LittleEndian(contents.size(), 8);
  return length + LittleEndian(Checksum(length), 4) + contents +
         LittleEndian(Checksum(contents), 4);
}

std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value > 127; value >>= 7) bytes.push_back(static_cast<char>(value | 128));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}

std::string BytesField(int field, const std::string& bytes) {
  return Varint(field * 8 + 2) + Varint(bytes.size()) + bytes;
}

std::string IntsFeature(const std::vector<int64_t>& values) {
  std::string packed;
  for (const int64_t value : values) packed += Varint(static_cast<uint64_t>(value));
  return BytesField(3, BytesField(1, packed));
}

std::string FloatsFeature(const std::vector<float>& values) {
  return BytesField(2, BytesField(1, std::string(reinterpret_cast<const char*>(values.data()),
                                                 values.size() * sizeof(float))));
}

std::string BytesFeature(const std::vector<std::string>& values) {
  std::string list;
  for (const std::string& value : values) list += BytesField(1, value);
  return BytesField(1, list);
}

std::string ExampleBytes(const std::vector<std::pair<std::string, std::string>>& features) {
  std::string map;
  for (const auto& [name, feature] : features) {
    map += BytesField(1, BytesField(1, name) + BytesField(2, feature));
  }
  return BytesField(1, map);
}

std::string Zlib(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string packed(size, '\0');
  compress(reinterpret_cast<Bytef*>(packed.data()), &size,
           reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  packed.resize(size);
  return packed;
}

}  // namespace cairn::testing
