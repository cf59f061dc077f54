#include "cli/help/completion.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/help/help_text.h"
#include "common/nearest_name.h"

namespace cairn::cli {
namespace {

// `text` in single quotes, for any of the shells. A quote in the text becomes '\''.
std::string Quoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

std::vector<Command> Flat(const std::vector<CommandGroup>& groups) {
  std::vector<Command> commands;
  for (const CommandGroup& group : groups) {
    commands.insert(commands.end(), group.commands.begin(), group.commands.end());
  }
  return commands;
}

std::vector<Flag> DashedFlags(const Command& command) {
  std::vector<Flag> flags;
  for (const Flag& flag : FlagsOf(command)) {
    if (!flag.is_argument) flags.push_back(flag);
  }
  return flags;
}

std::string NamesOf(const std::vector<Command>& commands) {
  return absl::StrJoin(commands, " ",
                       [](std::string* out, const Command& command) { out->append(command.name); });
}

std::string FlagNamesOf(const Command& command) {
  return absl::StrJoin(DashedFlags(command), " ",
                       [](std::string* out, const Flag& flag) { out->append(flag.name); });
}

std::string Bash(const std::vector<Command>& commands) {
  std::string cases;
  for (const Command& command : commands) {
    absl::StrAppend(&cases, "      ", command.name, ") words='", FlagNamesOf(command), "' ;;\n");
  }
  return absl::StrCat(
      "# bash completion for cairn: source it, or put it into\n"
      "# ~/.local/share/bash-completion/completions/cairn\n"
      "_cairn() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} words=\n"
      "  if [[ $COMP_CWORD -eq 1 ]]; then\n"
      "    words='",
      NamesOf(commands),
      " --help'\n"
      "  elif [[ $word == -* ]]; then\n"
      "    case ${COMP_WORDS[1]} in\n",
      cases,
      "    esac\n"
      "  fi\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "}\n"
      "complete -o default -F _cairn cairn\n");
}

std::string Zsh(const std::vector<Command>& commands) {
  std::string names, cases;
  for (const Command& command : commands) {
    absl::StrAppend(&names, "      ", Quoted(absl::StrCat(command.name, ":", command.description)),
                    "\n");
    std::string flags;
    for (const Flag& flag : DashedFlags(command)) {
      const std::string help = absl::StrReplaceAll(flag.help, {{"[", "("}, {"]", ")"}, {":", ","}});
      const std::string value =
          flag.value.empty()
              ? ""
              : absl::StrCat(":", absl::StrReplaceAll(flag.value, {{":", " "}}), ":_files");
      absl::StrAppend(&flags, " ", Quoted(absl::StrCat(flag.name, "[", help, "]", value)));
    }
    absl::StrAppend(&cases, "    ", command.name, ") _arguments", flags, " '*:file:_files' ;;\n");
  }
  return absl::StrCat(
      "#compdef cairn\n"
      "# zsh completion for cairn: put it as _cairn into a folder of $fpath, or source it.\n"
      "_cairn() {\n"
      "  if (( CURRENT == 2 )); then\n"
      "    local -a commands=(\n",
      names,
      "    )\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  local command=$words[2]\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $command in\n",
      cases,
      "  esac\n"
      "}\n"
      "compdef _cairn cairn\n");
}

std::string Fish(const std::vector<Command>& commands) {
  std::string script =
      "# fish completion for cairn: put it into ~/.config/fish/completions/cairn.fish\n";
  for (const Command& command : commands) {
    absl::StrAppend(&script, "complete -c cairn -n __fish_use_subcommand -f -a ", command.name,
                    " -d ", Quoted(command.description), "\n");
    for (const Flag& flag : DashedFlags(command)) {
      absl::StrAppend(&script, "complete -c cairn -n '__fish_seen_subcommand_from ", command.name,
                      "' -l ", flag.name.substr(2), flag.value.empty() ? "" : " -r", " -d ",
                      Quoted(flag.help), "\n");
    }
  }
  return script;
}

}  // namespace

std::vector<std::string> CompletionShells() { return {"bash", "zsh", "fish"}; }

absl::StatusOr<std::string> CompletionScript(const std::string& shell,
                                             const std::vector<CommandGroup>& groups) {
  const std::vector<Command> commands = Flat(groups);
  if (shell == "bash") return Bash(commands);
  if (shell == "zsh") return Zsh(commands);
  if (shell == "fish") return Fish(commands);
  return absl::InvalidArgumentError(absl::StrCat("there is no completion for the shell ", shell,
                                                 "; available: bash, zsh, fish",
                                                 DidYouMean(shell, CompletionShells())));
}

}  // namespace cairn::cli
