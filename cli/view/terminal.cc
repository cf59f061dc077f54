#include "cli/view/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace cairn::cli {
namespace {

constexpr char kCtrlC = '\3';
// Control sequences of ECMA-48 and xterm: another screen without a cursor, and back.
constexpr char kEnter[] = "\x1b[?1049h\x1b[?25l";
constexpr char kLeave[] = "\x1b[?25h\x1b[?1049l";
constexpr char kHome[] = "\x1b[H";
constexpr char kClearLine[] = "\x1b[K";
constexpr char kClearBelow[] = "\x1b[J";

}  // namespace

TerminalSize SizeOfTerminal(int file) {
  TerminalSize result;
  winsize size{};
  if (ioctl(file, TIOCGWINSZ, &size) != 0) return result;
  if (size.ws_row > 0) result.rows = size.ws_row;
  if (size.ws_col > 0) result.columns = size.ws_col;
  return result;
}

Terminal::Terminal(int input, int output) : input_(input), output_(output) {
  tcgetattr(input_, &before_);
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON | ISIG);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  tcsetattr(input_, TCSANOW, &raw);
  Write(kEnter);
}

Terminal::~Terminal() {
  Write(kLeave);
  tcsetattr(input_, TCSANOW, &before_);
}

void Terminal::Show(const std::vector<std::string>& lines) {
  const TerminalSize size = SizeOfTerminal(output_);
  const size_t rows = std::min(lines.size(), static_cast<size_t>(size.rows));
  std::string screen = kHome;
  for (size_t i = 0; i < rows; ++i) {
    const std::string line = lines[i].substr(0, static_cast<size_t>(size.columns));
    // A line break after the last row would scroll the screen.
    absl::StrAppend(&screen, line, kClearLine, i + 1 < rows ? "\r\n" : "");
  }
  Write(screen + kClearBelow);
}

std::optional<char> Terminal::WaitForKey(absl::Duration timeout) {
  pollfd waiting = {input_, POLLIN, 0};
  const int milliseconds = static_cast<int>(absl::ToInt64Milliseconds(timeout));
  if (poll(&waiting, 1, milliseconds) <= 0) return std::nullopt;
  char key = 0;
  return read(input_, &key, 1) == 1 ? key : kCtrlC;
}

void Terminal::Write(const std::string& text) const {
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = write(output_, text.data() + written, text.size() - written);
    if (count <= 0) return;
    written += static_cast<size_t>(count);
  }
}

}  // namespace cairn::cli
