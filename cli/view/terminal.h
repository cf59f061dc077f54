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

// The size of the terminal `file`, or the default if it is unknown.
TerminalSize SizeOfTerminal(int file);

// A full-screen display on a terminal. The constructor switches to another screen and turns off the
// echo of keys; the destructor restores both. Ctrl-C arrives as the key '\3', not as a signal. Not
// thread-safe.
class Terminal {
 public:
  // File descriptors of the same terminal; they are not closed.
  Terminal(int input, int output);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // Replaces the contents of the screen. Lines are cut to the terminal's width, and their number to
  // its height.
  void Show(const std::vector<std::string>& lines);

  // The next key; nullopt if none is pressed within `timeout`. '\3' also if the terminal is gone.
  std::optional<char> WaitForKey(absl::Duration timeout);

 private:
  void Write(const std::string& text) const;

  const int input_;
  const int output_;
  termios before_{};
};

}  // namespace cairn::cli

#endif  // CAIRN_CLI_VIEW_TERMINAL_H_
