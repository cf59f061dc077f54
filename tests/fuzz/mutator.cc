#include "tests/fuzz/mutator.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cairn::fuzz {
namespace {

constexpr size_t kInputsMax = 512;
constexpr size_t kWordsMax = 4096;
constexpr size_t kStackedMax = 4;

// The limits of signs, widths and the precision of doubles.
constexpr uint64_t kIntegers[] = {
    0,          1,          2,          7,       8,          0x7f,       0x80,
    0xff,       0x100,      0x7fff,     0x8000,  0xffff,     0x10000,    0x7fffffff,
    0x80000000, 0xffffffff, 1ULL << 32, 1 << 20, 1ULL << 48, 1ULL << 53, 1ULL << 62,
    1ULL << 63, ~0ULL,      ~0ULL - 1,  ~7ULL,   ~0ULL >> 1, ~0ULL >> 2, ~0ULL >> 3,
};
constexpr const char* kDecimals[] = {
    "0",
    "-1",
    "1",
    "2",
    "65535",
    "65536",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "1e400",
    "-1e400",
    "1e308",
    "9223372036854775807",
    "1e-400",
    "0.5",
    "-0",
    "NaN",
    "null",
    "true",
    "9223372036854775808",
    "281474976710656",
    "-9223372036854775808",
    "18446744073709551616",
    "1000000007",
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsWordByte(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

}  // namespace

Mutator::Mutator(uint64_t seed, std::vector<std::string> seeds)
    : random_(seed), seeds_(seeds.size()), inputs_(std::move(seeds)) {
  for (const std::string& input : inputs_) CollectWords(input);
}

std::string Mutator::Next() {
  std::string input = AnyInput();
  for (size_t left = 1 + Below(kStackedMax); left > 0; --left) MutateOnce(&input);
  if (input.size() > kInputBytesMax) input.resize(kInputBytesMax);
  return input;
}

void Mutator::Keep(std::string input) {
  if (inputs_.size() < kInputsMax) {
    inputs_.push_back(std::move(input));
  } else if (inputs_.size() > seeds_) {
    inputs_[seeds_ + Below(inputs_.size() - seeds_)] = std::move(input);
  }
}

void Mutator::CollectWords(const std::string& input) {
  for (size_t begin = 0; begin < input.size() && words_.size() < kWordsMax; ++begin) {
    size_t end = begin;
    while (end < input.size() && IsWordByte(input[end])) ++end;
    if (end - begin > 1) words_.push_back(input.substr(begin, end - begin));
    begin = end;
  }
}

void Mutator::MutateOnce(std::string* input) {
  using Mutation = void (Mutator::*)(std::string*);
  constexpr Mutation kMutations[] = {
      &Mutator::ChangeByte, &Mutator::ChangeInteger, &Mutator::ChangeDecimal, &Mutator::ChangeWord,
      &Mutator::Cut,        &Mutator::Repeat,        &Mutator::Splice,
  };
  (this->*kMutations[Below(std::size(kMutations))])(input);
}

void Mutator::ChangeByte(std::string* input) {
  if (input->empty()) return input->push_back(static_cast<char>(random_()));
  char& byte = (*input)[Below(input->size())];
  byte = Below(2) == 0 ? static_cast<char>(byte ^ (1 << Below(8))) : static_cast<char>(random_());
}

// Replaces 1 to 8 bytes by a number, in either byte order.
void Mutator::ChangeInteger(std::string* input) {
  const size_t bytes = size_t{1} << Below(4);
  if (input->size() < bytes) return ChangeByte(input);
  const size_t at = Below(input->size() - bytes + 1);
  const uint64_t number = kIntegers[Below(std::size(kIntegers))];
  const bool big_endian = Below(2) == 0;
  for (size_t i = 0; i < bytes; ++i) {
    const size_t place = big_endian ? bytes - 1 - i : i;
    (*input)[at + place] = static_cast<char>(number >> (8 * i));
  }
}

// Finds the next run of digits after a random position.
void Mutator::ChangeDecimal(std::string* input) {
  size_t begin = Below(input->size());
  while (begin < input->size() && !IsDigit((*input)[begin])) ++begin;
  size_t end = begin;
  while (end < input->size() && IsDigit((*input)[end])) ++end;
  if (begin == end) return ChangeByte(input);
  input->replace(begin, end - begin, kDecimals[Below(std::size(kDecimals))]);
}

void Mutator::ChangeWord(std::string* input) {
  size_t begin = Below(input->size());
  while (begin < input->size() && !IsWordByte((*input)[begin])) ++begin;
  size_t end = begin;
  while (end < input->size() && IsWordByte((*input)[end])) ++end;
  if (begin == end || words_.empty()) return ChangeByte(input);
  input->replace(begin, end - begin, words_[Below(words_.size())]);
}

void Mutator::Cut(std::string* input) {
  const size_t begin = Below(input->size());
  input->erase(begin, Below(8) == 0 ? std::string::npos : Below(1 + input->size() / 8) + 1);
}

void Mutator::Repeat(std::string* input) {
  const size_t begin = Below(input->size());
  const std::string part = input->substr(begin, Below(1 + input->size() / 4) + 1);
  for (size_t times = 1 + Below(3); times > 0; --times) input->insert(begin, part);
}

void Mutator::Splice(std::string* input) {
  const std::string& other = AnyInput();
  const size_t begin = Below(other.size());
  const std::string part = other.substr(begin, Below(1 + other.size() / 2) + 1);
  const size_t at = Below(input->size() + 1);
  if (Below(2) == 0) {
    input->insert(at, part);
  } else {
    input->replace(at, std::min(part.size(), input->size() - at), part);
  }
}

}  // namespace cairn::fuzz
