#include "cli/commands/flag_set.h"

#include <limits>

#include "CLI/CLI.hpp"
#include "common/flag_checks.h"

namespace cairn::cli {
namespace {

constexpr int64_t kIdMax = std::numeric_limits<int64_t>::max();

}  // namespace

std::string FlagSet::Remember(const std::string& name, const std::string& value_unless_named,
                              const std::string& help) {
  const size_t space = name.find(' ');
  Flag flag;
  flag.name = name.substr(0, space);
  flag.value = space == std::string::npos ? value_unless_named : name.substr(space + 1);
  flag.help = help;
  flag.is_argument = name[0] != '-';
  flags_.push_back(flag);
  return flag.name;
}

// nullptr where nothing will be parsed.
template <typename Value>
CLI::Option* FlagSet::Add(const std::string& name, const std::string& value_unless_named,
                          Value* value, const std::string& help) {
  const std::string flag = Remember(name, value_unless_named, help);
  return command_ == nullptr ? nullptr : command_->add_option(flag, *value, help);
}

void FlagSet::AddArgument(const std::string& name, std::string* value, bool is_required,
                          const std::string& help) {
  CLI::Option* option = Add(name, "", value, help);
  flags_.back().is_required = is_required;
  if (option != nullptr) option->required(is_required)->check(NotEmpty(is_required));
}

void FlagSet::AddBool(const std::string& name, bool* value, const std::string& help) {
  Remember(name, "", help);
  if (command_ != nullptr) command_->add_flag(name, *value, help);
}

void FlagSet::AddString(const std::string& name, std::string* value, const std::string& help) {
  CLI::Option* option = Add(name, "TEXT", value, help);
  if (option != nullptr) option->check(NotEmpty());
}

void FlagSet::AddRequiredString(const std::string& name, std::string* value,
                                const std::string& help) {
  CLI::Option* option = Add(name, "TEXT", value, help);
  flags_.back().is_required = true;
  if (option != nullptr) option->required()->check(NotEmpty(/*is_required=*/true));
}

void FlagSet::AddRequiredStrings(const std::string& name, std::vector<std::string>* values,
                                 const std::string& help) {
  CLI::Option* option = Add(name, "TEXT", values, help);
  flags_.back().is_required = true;
  flags_.back().is_repeated = true;
  if (option == nullptr) return;
  option->required()
      ->check(NotEmpty(/*is_required=*/true))
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void FlagSet::AddCount(const std::string& name, int* value, int max, const std::string& help) {
  AddCount(name, value, 1, max, help);
}

void FlagSet::AddCount(const std::string& name, int* value, int least, int max,
                       const std::string& help) {
  CLI::Option* option = Add(name, "N", value, help);
  if (option != nullptr) option->check(WholeNumber(least, max));
}

void FlagSet::AddId(const std::string& name, uint64_t* value, const std::string& help) {
  CLI::Option* option = Add(name, "N", value, help);
  if (option != nullptr) option->check(WholeNumber(1, kIdMax));
}

void FlagSet::AddNumber(const std::string& name, double* value, const std::string& help) {
  CLI::Option* option = Add(name, "X", value, help);
  if (option != nullptr) option->check(Number());
}

void FlagSet::AddNumber(const std::string& name, double* value, double least, double most,
                        const std::string& help) {
  CLI::Option* option = Add(name, "X", value, help);
  if (option != nullptr) option->check(Number(least, most));
}

void FlagSet::Exclude(const std::string& one, const std::string& other) {
  if (command_ == nullptr) return;
  command_->get_option(one)->excludes(command_->get_option(other));
}

}  // namespace cairn::cli
