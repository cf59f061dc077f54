#ifndef CAIRN_CLI_COMMANDS_FLAG_SET_H_
#define CAIRN_CLI_COMMANDS_FLAG_SET_H_

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace cairn::cli {

// One thing that a command takes, as help, manual pages and completion speak of it.
struct Flag {
  std::string name;   // "--state"; of an argument what stands for it: "JOB".
  std::string value;  // What stands for its value: "DIR". Empty: an argument, or a switch.
  std::string help;   // Of a flag's default in brackets: "The directory [cairn-state]".
  bool is_argument = false;
  bool is_required = false;
  bool is_repeated = false;
};

// What a command takes from its command line. Destinations keep their values, as defaults, when a
// flag is not there; they must live until the line has been parsed. Flags are named with their
// dashes and what stands for their value: "--state DIR". (CLI11 stays behind this: it is a
// header-only library that takes seconds in each source that includes it.)
class FlagSet {
 public:
  // nullptr: nothing will be parsed, only flags() is wanted.
  explicit FlagSet(CLI::App* command) : command_(command) {}

  // The next word that is no flag; `name` is how help speaks of it.
  void AddArgument(const std::string& name, std::string* value, bool is_required,
                   const std::string& help);

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
  // From `least` to `most`.
  void AddNumber(const std::string& name, double* value, double least, double most,
                 const std::string& help);

  // At most one of these two flags, added before, may be there.
  void Exclude(const std::string& one, const std::string& other);

  // All that was added, in this order.
  const std::vector<Flag>& flags() const { return flags_; }

 private:
  // Splits "--state DIR" and remembers it; returns "--state".
  std::string Remember(const std::string& name, const std::string& value_unless_named,
                       const std::string& help);

  template <typename Value>
  CLI::Option* Add(const std::string& name, const std::string& value_unless_named, Value* value,
                   const std::string& help);

  CLI::App* const command_;
  std::vector<Flag> flags_;
};

}  // namespace cairn::cli

#endif  // CAIRN_CLI_COMMANDS_FLAG_SET_H_
