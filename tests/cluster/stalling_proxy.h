#ifndef CAIRN_TESTS_CLUSTER_STALLING_PROXY_H_
#define CAIRN_TESTS_CLUSTER_STALLING_PROXY_H_

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace cairn::testing {

// Forwards bytes between its own port and another port of this machine, until it is stalled. A
// stalled proxy keeps connections open and accepts new ones, but delivers nothing in either
// direction; buffered bytes are delivered when it resumes. Thread-safe.
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
  // Bytes from one socket to another.
  struct Direction {
    int from = -1;
    int to = -1;
    std::string bytes;
  };

  void Run();
  void Accept();
  // Returns false if one of the sockets is closed.
  bool Move(Direction* direction);
  void Close(int from);

  const int target_port_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stalled_ = false;
  std::atomic<bool> stopping_ = false;
  std::vector<Direction> directions_;  // Used only by the thread; two for each connection.
  std::thread thread_;
};

}  // namespace cairn::testing

#endif  // CAIRN_TESTS_CLUSTER_STALLING_PROXY_H_
