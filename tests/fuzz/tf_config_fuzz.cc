// TF_CONFIG, which users write by hand.

#include "absl/status/status.h"
#include "cluster/tf_config.h"
#include "common/check.h"
#include "tests/fuzz/fuzz_target.h"

namespace cairn::fuzz {

bool RunInput(std::string_view input) {
  const auto config = cluster::ParseTfConfig(input);
  if (!config.ok()) {
    CAIRN_CHECK(absl::IsInvalidArgument(config.status()));
    return false;
  }
  CAIRN_CHECK(config->chief.port != 0);
  CAIRN_CHECK(!config->ps.empty());
  for (const std::string& address : config->PsAddresses()) {
    CAIRN_CHECK(cluster::ParseAddress(address).ok());
  }
  return true;
}

}  // namespace cairn::fuzz
