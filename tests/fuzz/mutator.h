#ifndef CAIRN_TESTS_FUZZ_MUTATOR_H_
#define CAIRN_TESTS_FUZZ_MUTATOR_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace cairn::fuzz {

// Generates mutations of known inputs: flips bits, replaces numbers by extreme values (as text and
// as binary integers), removes, repeats or inserts pieces of other inputs, and replaces words by
// those of other inputs. Deterministic: a seed gives the same sequence on every machine. Not
// thread-safe.
class Mutator {
 public:
  // `seeds` must not be empty.
  Mutator(uint64_t seed, std::vector<std::string> seeds);

  // Returns the next input, of at most kInputBytesMax bytes.
  std::string Next();

  // Adds the last result of Next to the inputs that are mutated.
  void Keep(std::string input);

  static constexpr size_t kInputBytesMax = 1 << 16;

 private:
  size_t Below(size_t bound) { return bound == 0 ? 0 : random_() % bound; }
  const std::string& AnyInput() { return inputs_[Below(inputs_.size())]; }
  void CollectWords(const std::string& input);

  void MutateOnce(std::string* input);
  void ChangeByte(std::string* input);
  void ChangeInteger(std::string* input);
  void ChangeDecimal(std::string* input);
  void ChangeWord(std::string* input);
  void Cut(std::string* input);
  void Repeat(std::string* input);
  void Splice(std::string* input);

  std::mt19937_64 random_;
  const size_t seeds_;
  std::vector<std::string> inputs_;  // The seeds, then the kept inputs.
  std::vector<std::string> words_;
};

}  // namespace cairn::fuzz

#endif  // CAIRN_TESTS_FUZZ_MUTATOR_H_
