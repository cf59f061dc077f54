// Has the journal in a directory open until it is killed. Writes "open" as soon as it has.
//
// Usage: journal_holder DIRECTORY

#include <unistd.h>

#include <iostream>
#include <string>

#include "storage/journal.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto journal = cairn::storage::Journal::Open(argv[1]);
  if (!journal.ok()) {
    std::cerr << journal.status() << std::endl;
    return 1;
  }
  std::cout << "open" << std::endl;
  while (true) pause();
}
