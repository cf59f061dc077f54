#ifndef CAIRN_TESTS_COLLECTIVES_RANKS_H_
#define CAIRN_TESTS_COLLECTIVES_RANKS_H_

#include <functional>
#include <string>
#include <vector>

#include "collectives/group.h"

namespace cairn::collectives::testing {

// "127.0.0.1:PORT", each with another free port.
std::vector<std::string> FreeAddresses(int count);

// Runs `body` for each rank of a new group, each on a thread of its own. Fails the test if a rank
// cannot join. `options` has everything but addresses and rank.
void RunRanks(int size, const std::function<void(Group* group)>& body, GroupOptions options = {});

}  // namespace cairn::collectives::testing

#endif  // CAIRN_TESTS_COLLECTIVES_RANKS_H_
