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

// An argument or a flag of a command, as help, manual pages and completion show it.
struct Flag {
  std::string name;   // "--state", or the placeholder of an argument: "JOB".
  std::string value;  // The placeholder of its value: "DIR". Empty: an argument, or a switch.
  std::string help;   // With the default in brackets: "The directory [cairn-state]".
  bool is_argument = false;
  bool is_required = false;
  bool is_repeated = false;
};

// Declares the arguments and flags of a command:
//
//   set->AddString("--state DIR", &state, "The state directory [cairn-state]");
//
// The name contains the dashes and the placeholder of the value. A destination keeps its value,
// which is the default, if the flag is absent. It must exist until the command line has been
// parsed.
// This class hides CLI11, a header-only library that adds seconds to the compilation of each source
// that includes it.
class FlagSet {
 public:
  // nullptr: nothing is parsed, and only flags() is used.
  explicit FlagSet(CLI::App* command) : command_(command) {}

  // The next word that is not a flag. `name` is its placeholder in the help.
  void AddArgument(const std::string& name, std::string* value, bool is_required,
                   const std::string& help);

  void AddBool(const std::string& name, bool* value, const std::string& help);
  void AddString(const std::string& name, std::string* value, const std::string& help);
  void AddRequiredString(const std::string& name, std::string* value, const std::string& help);
  // A flag that is given once or more often.
  void AddRequiredStrings(const std::string& name, std::vector<std::string>* values,
                          const std::string& help);
  // A whole number from 1 to `max`.
  void AddCount(const std::string& name, int* value, int max, const std::string& help);
  // A whole number from `least` to `max`.
  void AddCount(const std::string& name, int* value, int least, int max, const std::string& help);
  // A whole number from 1.
  void AddId(const std::string& name, uint64_t* value, const std::string& help);
  void AddNumber(const std::string& name, double* value, const std::string& help);
  // A number from `least` to `most`.
  void AddNumber(const std::string& name, double* value, double least, double most,
                 const std::string& help);

  // At most one of these two flags may be given. Both must have been added.
  void Exclude(const std::string& one, const std::string& other);

  // All arguments and flags, in the order in which they were added.
  const std::vector<Flag>& flags() const { return flags_; }

 private:
  // Splits "--state DIR", adds it to flags() and returns "--state".
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
