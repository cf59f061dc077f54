#ifndef CAIRN_COMMON_RANDOM_H_
#define CAIRN_COMMON_RANDOM_H_

#include <cstdint>
#include <string_view>

namespace cairn {

// Counter-based random numbers. Draw i of a stream is a pure function of (key, i), so any process
// can make any draw, in any order, with the same result. Training does not need the statistical
// quality of Philox: this is SplitMix64's finalizer (Steele, Lea, Flood 2014) applied to key and
// counter.
constexpr uint64_t MixBits(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Derives the key of a substream, such as that of a layer, a batch or an epoch.
constexpr uint64_t DeriveKey(uint64_t parent, uint64_t child) {
  return MixBits(MixBits(parent + 0x9e3779b97f4a7c15u) ^ (child * 0xd1342543de82ef95u + 1));
}

// The same for a named substream (FNV-1a of the name's bytes).
constexpr uint64_t DeriveKey(uint64_t parent, std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  return DeriveKey(parent, hash);
}

// Draw `index` of the stream: 64 uniform random bits.
constexpr uint64_t RandomBits(uint64_t key, uint64_t index) {
  return MixBits(key + (index + 1) * 0x9e3779b97f4a7c15u);
}

// Uniform in [0, 1), with 24 random bits.
constexpr float RandomUniform(uint64_t key, uint64_t index) {
  return static_cast<float>(RandomBits(key, index) >> 40) * 0x1p-24f;
}

// A uniform integer in [0, bound), by Lemire's multiplication. Requires bound > 0. The bias is
// below 2^-32 for bounds below 2^32.
constexpr uint64_t RandomBelow(uint64_t key, uint64_t index, uint64_t bound) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(RandomBits(key, index)) * bound) >>
                               64);
}

}  // namespace cairn

#endif  // CAIRN_COMMON_RANDOM_H_
