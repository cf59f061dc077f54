// Addresses (HOST:PORT) in flags and TF_CONFIG.

#include "cluster/address.h"
#include "common/check.h"
#include "tests/fuzz/fuzz_target.h"

namespace cairn::fuzz {

bool RunInput(std::string_view input) {
  const auto address = cluster::ParseAddress(input);
  if (!address.ok()) return false;
  CAIRN_CHECK(address->port != 0);
  CAIRN_CHECK(cluster::ParseAddress(address->ToString()).value() == *address);
  // The address that a daemon binds must be valid too.
  CAIRN_CHECK(cluster::ParseAddress(cluster::BindAddress(*address)).ok());
  return true;
}

}  // namespace cairn::fuzz
