#ifndef CAIRN_NN_FORMATS_CRC32C_H_
#define CAIRN_NN_FORMATS_CRC32C_H_

#include <cstdint>
#include <string_view>

namespace cairn::nn {

// The CRC with Castagnoli's polynomial of A followed by `bytes`, where `crc` is that of A.
uint32_t Crc32c(std::string_view bytes, uint32_t crc = 0);

// The checksum as LevelDB and TensorFlow store it, so that bytes which contain their own checksum
// are no special case.
uint32_t MaskedCrc(uint32_t crc);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_CRC32C_H_
