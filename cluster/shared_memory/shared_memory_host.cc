#include "cluster/shared_memory/shared_memory_host.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cluster/shared_memory/local_socket.h"
#include "common/failpoint.h"
#include "common/logging.h"

namespace cairn::cluster {
namespace {

// The pause before accepting again when there were no free descriptors.
constexpr int kPauseMilliseconds = 200;

}  // namespace

std::string SharedMemoryOffer::SocketName(int port) {
  return absl::StrCat("cairn-shared-memory-", port);
}

absl::StatusOr<std::unique_ptr<SharedMemoryHost>> SharedMemoryHost::Start(int port) {
  const int listener = ListenLocally(SharedMemoryOffer::SocketName(port));
  if (listener < 0) {
    return absl::UnavailableError(
        absl::StrCat("no shared memory for port ", port, ": ", std::strerror(errno)));
  }
  const int stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (stop < 0) {
    const std::string why = std::strerror(errno);
    close(listener);
    return absl::UnavailableError(absl::StrCat("no shared memory for port ", port, ": ", why));
  }
  return std::unique_ptr<SharedMemoryHost>(new SharedMemoryHost(listener, stop));
}

SharedMemoryHost::SharedMemoryHost(int listener, int stop) : listener_(listener), stop_(stop) {
  thread_ = std::thread([this] { Serve(); });
  pthread_setname_np(thread_.native_handle(), "shared-memory");
}

SharedMemoryHost::~SharedMemoryHost() {
  eventfd_write(stop_, 1);
  thread_.join();
  for (const Client& client : clients_) close(client.socket);
  close(listener_);
  close(stop_);
}

std::shared_ptr<SharedMemory> SharedMemoryHost::Find(uint64_t token) const {
  if (!CAIRN_FAILPOINT("shared_memory.find").ok()) return nullptr;
  MutexLock lock(&mutex_);
  const auto found = memories_.find(token);
  return found == memories_.end() ? nullptr : found->second;
}

size_t SharedMemoryHost::clients() const {
  MutexLock lock(&mutex_);
  return client_count_;
}

void SharedMemoryHost::Serve() {
  bool accepts = true;
  while (true) {
    std::vector<pollfd> watched = {{stop_, POLLIN, 0}};
    watched.push_back({listener_, static_cast<short>(accepts ? POLLIN : 0), 0});
    for (const Client& client : clients_) watched.push_back({client.socket, POLLIN, 0});
    if (poll(watched.data(), watched.size(), accepts ? -1 : kPauseMilliseconds) < 0) continue;
    if (watched[0].revents != 0) return;
    std::vector<Client> staying;
    for (size_t i = 0; i < clients_.size(); ++i) {
      Client client = clients_[i];
      if (watched[i + 2].revents == 0 || HandleMessage(&client)) {
        staying.push_back(client);
      } else {
        Disconnect(client);
      }
    }
    clients_ = std::move(staying);
    accepts = watched[1].revents == 0 || Accept();
    MutexLock lock(&mutex_);
    client_count_ = clients_.size();
  }
}

bool SharedMemoryHost::Accept() {
  const int socket = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (socket < 0) return errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM;
  if (clients_.size() < kClientsMax && PeerIsSameUser(socket)) {
    clients_.push_back({socket, 0});
  } else {
    close(socket);
  }
  return true;
}

bool SharedMemoryHost::HandleMessage(Client* client) {
  SharedMemoryOffer offer;
  LocalMessage message;
  if (!Receive(client->socket, &offer, sizeof(offer), &message)) return false;
  if (message.would_block) return true;
  const bool good = message.bytes == sizeof(offer) && AddMemory(offer, message.descriptor, client);
  if (message.descriptor >= 0) close(message.descriptor);  // The mapping stays valid without it.
  if (!good) return false;
  const char yes = 1;
  return send(client->socket, &yes, sizeof(yes), MSG_NOSIGNAL) == sizeof(yes);
}

bool SharedMemoryHost::AddMemory(const SharedMemoryOffer& offer, int descriptor, Client* client) {
  const SharedMemoryOffer expected;
  if (offer.magic != expected.magic || offer.version != expected.version || offer.token == 0 ||
      client->token != 0) {
    return false;
  }
  auto memory = SharedMemory::Adopt(offer.token, descriptor);
  if (!memory.ok()) {
    CAIRN_LOG_WARNING("shared memory refused", "why", memory.status());
    return false;
  }
  MutexLock lock(&mutex_);
  if (!memories_.emplace(offer.token, *std::move(memory)).second) return false;
  client->token = offer.token;
  return true;
}

void SharedMemoryHost::Disconnect(const Client& client) {
  close(client.socket);
  MutexLock lock(&mutex_);
  if (client.token != 0) memories_.erase(client.token);
}

}  // namespace cairn::cluster
