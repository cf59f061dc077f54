#ifndef CAIRN_TESTS_CLUSTER_STALLING_PROXY_H_
#define CAIRN_TESTS_CLUSTER_STALLING_PROXY_H_

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace cairn::testing {

// A network that can become a black hole: hands on all bytes between its own port and another of
// this machine until it is stalled. Then connections stay open, new ones are made, and nothing
// arrives, on either side; what was sent arrives when it goes on. Thread-safe.
class StallingProxy {
 public:
  explicit StallingProxy(int target_port);
  ~StallingProxy();
  StallingProxy(const StallingProxy&) = delete;
  StallingProxy& operator=(const StallingProxy&) = delete;

  int port() const { return port_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  void Stall() { stalled_ = true; }
  void GoOn() { stalled_ = false; }

 private:
  // Bytes that came from one socket and go to another.
  struct Direction {
    int from = -1;
    int to = -1;
    std::string bytes;
  };

  void Run();
  void Accept();
  // False: one of its sockets is closed.
  bool Move(Direction* direction);
  void Close(int from);

  const int target_port_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stalled_ = false;
  std::atomic<bool> stopping_ = false;
  std::vector<Direction> directions_;  // The thread's; two for each connection.
  std::thread thread_;
};

}  // namespace cairn::testing

#endif  // CAIRN_TESTS_CLUSTER_STALLING_PROXY_H_
