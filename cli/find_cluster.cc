#include "cli/find_cluster.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "cli/local/cluster_file.h"
#include "cli/local/last_cluster.h"
#include "cli/local/state_lock.h"
#include "cli/remote_source.h"
#include "cli/state_source.h"
#include "cli/status_json.h"
#include "cli/view/shell_word.h"
#include "cluster/address.h"
#include "cluster/tf_config.h"
#include "common/status_macros.h"

namespace cairn::cli {
namespace {

constexpr char kHowToName[] =
    "start one with cairn up, or name the cluster with --coordinator HOST:PORT or TF_CONFIG, or "
    "the state directory of a cairn run or up with --state DIR";

// The address of the coordinator that runs on the directory, or "" if there is none.
absl::StatusOr<std::string> CoordinatorOfState(const std::string& state) {
  CAIRN_ASSIGN_OR_RETURN(const auto holder, HolderOfState(state));
  if (!holder) return "";
  CAIRN_ASSIGN_OR_RETURN(const auto file, ReadClusterFile(state));
  return file ? file->coordinator : "";
}

bool Exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

std::string AbsolutePath(const std::string& path) {
  return std::filesystem::absolute(path).lexically_normal();
}

bool IsSame(const std::string& state, const std::string& other) {
  return !state.empty() && !other.empty() && AbsolutePath(state) == AbsolutePath(other);
}

// Prefers a directory whose cluster runs to one that only has data. `down`, if not empty, counts as
// a directory whose cluster does not run. "" if there is no directory.
std::string ChooseState(const ClusterChoice& choice, const std::string& down = "") {
  if (!choice.state.empty()) return choice.state;
  const std::string last = LastCluster(choice.user_folder);
  for (const std::string& state : {std::string(kDefaultState), last}) {
    if (!state.empty() && !IsSame(state, down) && IsStateLocked(state)) return state;
  }
  for (const std::string& state : {std::string(kDefaultState), last}) {
    if (!state.empty() && Exists(state)) return state;
  }
  return "";
}

// The result of a choice. Without an address no coordinator is known. Without a directory the
// cluster was named by its address, or there is none.
struct Place {
  std::string address;
  std::string state;
};

absl::StatusOr<Place> FindPlace(const ClusterChoice& choice) {
  Place place;
  if (!choice.coordinator.empty()) {
    const auto address = cluster::ParseAddress(choice.coordinator);
    if (!address.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--coordinator: ", std::string(address.status().message())));
    }
    place.address = choice.coordinator;
  } else if (choice.state.empty() && !choice.tf_config.empty()) {
    const auto config = cluster::ParseTfConfig(choice.tf_config);
    if (!config.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(std::string(config.status().message()),
                       "; correct or unset TF_CONFIG, or choose the cluster with --state or "
                       "--coordinator"));
    }
    place.address = config->chief.ToString();
  } else {
    place.state = ChooseState(choice);
    CAIRN_ASSIGN_OR_RETURN(place.address, CoordinatorOfState(place.state));
  }
  return place;
}

// `cairn run` and `cairn up` restart their coordinator, so for a state directory it is worth
// waiting.
std::unique_ptr<CoordinatorApi> MakeApi(const Place& place, absl::Duration patience) {
  return std::make_unique<CoordinatorApi>(place.address, patience,
                                          place.state.empty() ? CoordinatorApi::WhenRefused::kFail
                                                              : CoordinatorApi::WhenRefused::kWait);
}

}  // namespace

absl::StatusOr<std::unique_ptr<CoordinatorApi>> FindCoordinator(const ClusterChoice& choice) {
  CAIRN_ASSIGN_OR_RETURN(const Place place, FindPlace(choice));
  if (place.address.empty()) {
    return absl::UnavailableError(
        place.state.empty()
            ? absl::StrCat("no cluster found: ", kHowToName)
            : absl::StrCat("no cluster runs on the state directory ", place.state,
                           "; start it again with cairn up --state ", ShellWord(place.state),
                           ", or choose another one with --state or --coordinator"));
  }
  return MakeApi(place, choice.patience);
}

bool IsOfARun(const ClusterChoice& choice) {
  const absl::StatusOr<Place> place = FindPlace(choice);
  if (!place.ok() || place->state.empty()) return false;
  const auto holder = HolderOfState(place->state);
  return holder.ok() && holder->has_value() && (*holder)->command == "cairn run";
}

absl::StatusOr<std::string> FindState(const ClusterChoice& choice) {
  if (!choice.coordinator.empty()) {
    return absl::InvalidArgumentError(
        "this is about a cluster of cairn run or up; name its state directory with --state, not "
        "its address");
  }
  const std::string state = ChooseState(choice);
  return state.empty() ? kDefaultState : state;
}

std::string StateFlag(const std::string& state, const ClusterChoice& choice) {
  // Checks both cases: while the cluster is up, and when it is down.
  const bool is_found = choice.tf_config.empty() && IsSame(ChooseState(choice), state) &&
                        IsSame(ChooseState(choice, state), state);
  return is_found ? "" : absl::StrCat(" --state ", ShellWord(state));
}

bool IsUp(const FoundSource& found) { return found.api != nullptr || IsStateLocked(found.state); }

bool IsStopped(const FoundSource& found, const proto::JobStatus& job) {
  return !IsUp(found) && !HasEnded(job.state());
}

absl::StatusOr<FoundSource> FindSource(const ClusterChoice& choice) {
  CAIRN_ASSIGN_OR_RETURN(const Place place, FindPlace(choice));
  FoundSource found;
  if (!place.address.empty()) {
    found.api = MakeApi(place, choice.patience);
    found.source = std::make_unique<RemoteSource>(found.api.get());
    // The coordinator of a state directory may be down for a moment, until it is restarted. The
    // directory has the same information.
    if (place.state.empty() || found.api->GetCluster().ok()) return found;
    found = FoundSource();
    if (choice.err != nullptr) {
      *choice.err << "cairn: the coordinator at " << place.address
                  << " does not answer (see cairn logs coordinator); this is what " << place.state
                  << " has\n";
    }
  }
  if (place.state.empty()) {
    return absl::UnavailableError(absl::StrCat("no cluster found: ", kHowToName));
  }
  auto source = StateSource::Open(place.state);
  if (absl::IsNotFound(source.status()) && IsStateLocked(place.state)) {
    return absl::UnavailableError(
        absl::StrCat("a cluster is being started on ", place.state, "; try again"));
  }
  if (!source.ok()) return source.status();
  found.source = *std::move(source);
  found.state = place.state;
  return found;
}

}  // namespace cairn::cli
