// The deterministic form of a fuzz test: all seeds, then a fixed sequence of their mutations.
// Arguments: the folder of the seeds and the number of mutations.
//
// Seeds whose names begin with "bad" must be rejected, and all others accepted, so that mutations
// start from inputs that reach the end of the parser. Each input is written to the file
// `last_input` in the test's output folder before it is run, so that it is not lost if the process
// crashes.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "common/check.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/mutator.h"

namespace cairn::fuzz {
namespace {

constexpr uint64_t kSeed = 20230401;
// Far more memory than a parser may allocate for an input of this length.
constexpr rlim_t kAddressSpaceBytesMax = rlim_t{8} << 30;

std::string seeds_folder;
int mutations = 0;

struct Seed {
  std::string name;
  std::string bytes;
};

std::vector<Seed> ReadSeeds() {
  std::vector<Seed> seeds;
  for (const auto& entry : std::filesystem::directory_iterator(seeds_folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    seeds.push_back(
        {entry.path().filename(), std::string(std::istreambuf_iterator<char>(file), {})});
  }
  std::sort(seeds.begin(), seeds.end(),
            [](const Seed& left, const Seed& right) { return left.name < right.name; });
  return seeds;
}

// Runs inputs, and writes each to disk first.
class Runner {
 public:
  Runner() {
    const char* folder = std::getenv("TEST_UNDECLARED_OUTPUTS_DIR");
    const std::string path = std::string(folder != nullptr ? folder : "/tmp") + "/last_input";
    last_input_ = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  }
  ~Runner() { close(last_input_); }
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  bool Run(const std::string& input) {
    const bool written =
        ftruncate(last_input_, 0) == 0 &&
        pwrite(last_input_, input.data(), input.size(), 0) == static_cast<ssize_t>(input.size());
    CAIRN_CHECK(written);
    // A copy of exactly the input's size, so that the address sanitizer detects reads past its end.
    const std::vector<char> exact(input.begin(), input.end());
    return RunInput(std::string_view(exact.data(), exact.size()));
  }

 private:
  int last_input_;
};

// Sanitizers reserve more address space than a limit could allow.
void LimitMemory() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(CAIRN_THREAD_SANITIZER)
  const rlimit limit = {kAddressSpaceBytesMax, kAddressSpaceBytesMax};
  CAIRN_CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
#endif
}

TEST(Fuzz, SeedsAreAcceptedUnlessTheirNamesSayThatTheyAreBad) {
  const std::vector<Seed> seeds = ReadSeeds();
  ASSERT_FALSE(seeds.empty()) << seeds_folder;
  Runner runner;
  for (const Seed& seed : seeds) {
    EXPECT_EQ(runner.Run(seed.bytes), !seed.name.starts_with("bad")) << seed.name;
  }
}

TEST(Fuzz, NoMutationOfTheSeedsIsMoreThanRefused) {
  std::vector<std::string> inputs;
  for (Seed& seed : ReadSeeds()) inputs.push_back(std::move(seed.bytes));
  ASSERT_FALSE(inputs.empty()) << seeds_folder;
  Mutator mutator(kSeed, std::move(inputs));
  Runner runner;
  int accepted = 0;
  for (int i = 0; i < mutations; ++i) {
    std::string input = mutator.Next();
    if (!runner.Run(input)) continue;
    ++accepted;
    mutator.Keep(std::move(input));
  }
  RecordProperty("inputs", mutations);
  RecordProperty("accepted", accepted);
}

}  // namespace
}  // namespace cairn::fuzz

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  CAIRN_CHECK(argc == 3);
  cairn::fuzz::seeds_folder = argv[1];
  cairn::fuzz::mutations = std::atoi(argv[2]);
  cairn::fuzz::LimitMemory();
  return RUN_ALL_TESTS();
}
