#ifndef CAIRN_CLI_COMMANDS_FLAG_SET_H_
#define CAIRN_CLI_COMMANDS_FLAG_SET_H_

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace cairn::cli {

// What a command takes from its command line. Destinations keep their values, as defaults, when a
// flag is not there; they must live until the line has been parsed. (CLI11 stays behind this: it is
// a header-only library that takes seconds in each source that includes it.)
class FlagSet {
 public:
  explicit FlagSet(CLI::App* command) : command_(command) {}

  // The next word that is no flag; `name` is how help speaks of it.
  void AddArgument(const std::string& name, std::string* value, bool is_required,
                   const std::string& help);

  // `name` with its dashes: "--state".
  void AddBool(const std::string& name, bool* value, const std::string& help);
  void AddString(const std::string& name, std::string* value, const std::string& help);
  void AddRequiredString(const std::string& name, std::string* value, const std::string& help);
  // Once or more often.
  void AddRequiredStrings(const std::string& name, std::vector<std::string>* values,
                          const std::string& help);
  // From 1 to `max`.
  void AddCount(const std::string& name, int* value, int max, const std::string& help);
  // From 1.
  void AddId(const std::string& name, uint64_t* value, const std::string& help);
  void AddNumber(const std::string& name, double* value, const std::string& help);

  // At most one of these two flags, added before, may be there.
  void Exclude(const std::string& one, const std::string& other);

 private:
  CLI::App* const command_;
};

}  // namespace cairn::cli

#endif  // CAIRN_CLI_COMMANDS_FLAG_SET_H_
