#include "cli/commands/flag_set.h"

#include "CLI/CLI.hpp"

namespace cairn::cli {

void FlagSet::AddArgument(const std::string& name, std::string* value, bool is_required,
                          const std::string& help) {
  command_->add_option(name, *value, help)->required(is_required);
}

void FlagSet::AddBool(const std::string& name, bool* value, const std::string& help) {
  command_->add_flag(name, *value, help);
}

void FlagSet::AddString(const std::string& name, std::string* value, const std::string& help) {
  command_->add_option(name, *value, help);
}

void FlagSet::AddRequiredString(const std::string& name, std::string* value,
                                const std::string& help) {
  command_->add_option(name, *value, help)->required();
}

void FlagSet::AddRequiredStrings(const std::string& name, std::vector<std::string>* values,
                                 const std::string& help) {
  command_->add_option(name, *values, help)
      ->required()
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void FlagSet::AddCount(const std::string& name, int* value, int max, const std::string& help) {
  command_->add_option(name, *value, help)->check(CLI::Range(1, max));
}

void FlagSet::AddId(const std::string& name, uint64_t* value, const std::string& help) {
  command_->add_option(name, *value, help)->check(CLI::PositiveNumber);
}

void FlagSet::AddNumber(const std::string& name, double* value, const std::string& help) {
  command_->add_option(name, *value, help);
}

void FlagSet::Exclude(const std::string& one, const std::string& other) {
  command_->get_option(one)->excludes(command_->get_option(other));
}

}  // namespace cairn::cli
