#include "nn/formats/crc32c.h"

#include <array>
#include <cstring>

namespace cairn::nn {
namespace {

// kTables[k][b]: the CRC of byte b followed by k zero bytes.
constexpr auto kTables = [] {
  std::array<std::array<uint32_t, 256>, 8> tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0);
    tables[0][byte] = crc;
  }
  for (size_t k = 1; k < tables.size(); ++k) {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const uint32_t crc = tables[k - 1][byte];
      tables[k][byte] = (crc >> 8) ^ tables[0][crc & 255];
    }
  }
  return tables;
}();

}  // namespace

uint32_t Crc32c(std::string_view bytes, uint32_t crc) {
  crc = ~crc;
  const char* next = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; left -= 8, next += 8) {
    uint64_t word;
    std::memcpy(&word, next, sizeof(word));
    word ^= crc;
    crc = 0;
    for (int i = 0; i < 8; ++i) crc ^= kTables[7 - i][(word >> (8 * i)) & 255];
  }
  for (; left > 0; --left, ++next) {
    crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<unsigned char>(*next)) & 255];
  }
  return ~crc;
}

uint32_t MaskedCrc(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

}  // namespace cairn::nn
