#ifndef CAIRN_CLI_VIEW_TERMINAL_H_
#define CAIRN_CLI_VIEW_TERMINAL_H_

#include <termios.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace cairn::cli {

struct TerminalSize {
  int rows = 24;
  int columns = 80;
};

// Of the terminal that `file` is; the default where that is not known.
TerminalSize SizeOfTerminal(int file);

// A terminal as a screen that is drawn anew: other contents come back, and keys are echoed again,
// when this ends. Ctrl-C arrives as a key ('\3'). Not thread-safe.
class Terminal {
 public:
  // File descriptors of the same terminal; they are not closed.
  Terminal(int input, int output);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // Replaces what is shown. Lines are cut to the terminal's width, and to its height.
  void Show(const std::vector<std::string>& lines);

  // The next key; nullopt when none was pressed for so long. '\3' also when the terminal is gone.
  std::optional<char> WaitForKey(absl::Duration timeout);

 private:
  void Write(const std::string& text) const;

  const int input_;
  const int output_;
  termios before_{};
};

}  // namespace cairn::cli

#endif  // CAIRN_CLI_VIEW_TERMINAL_H_
