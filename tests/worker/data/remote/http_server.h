#ifndef CAIRN_TESTS_WORKER_DATA_REMOTE_HTTP_SERVER_H_
#define CAIRN_TESTS_WORKER_DATA_REMOTE_HTTP_SERVER_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace cairn::testing {

// A server on the loopback interface that answers one request for each connection with the bytes
// that a function returns for the request's header, calls `before_close`, and closes the
// connection.
class HttpServer {
 public:
  using Answer = std::function<std::string(const std::string& header)>;

  explicit HttpServer(
      Answer answer, std::function<void()> before_close = [] {})
      : answer_(std::move(answer)),
        before_close_(std::move(before_close)),
        socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    CAIRN_CHECK(bind(socket_, reinterpret_cast<sockaddr*>(&address), size) == 0);
    CAIRN_CHECK(listen(socket_, 64) == 0);
    CAIRN_CHECK(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Serve(); });
  }
  ~HttpServer() {
    shutdown(socket_, SHUT_RDWR);  // Ends accept.
    thread_.join();
    close(socket_);
  }
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::string url(const std::string& path) const {
    return absl::StrCat("http://127.0.0.1:", port_, path);
  }
  int requests() const { return requests_; }

 private:
  void Serve() {
    while (true) {
      const int connection = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) return;
      std::string header;
      char bytes[4096];
      while (header.find("\r\n\r\n") == std::string::npos) {
        const ssize_t count = recv(connection, bytes, sizeof bytes, 0);
        if (count <= 0) break;
        header.append(bytes, count);
      }
      ++requests_;
      const std::string reply = answer_(header);
      for (size_t sent = 0; sent < reply.size();) {
        const ssize_t count =
            send(connection, reply.data() + sent, reply.size() - sent, MSG_NOSIGNAL);
        if (count <= 0) break;
        sent += count;
      }
      before_close_();
      close(connection);
    }
  }

  const Answer answer_;
  const std::function<void()> before_close_;
  const int socket_;
  int port_ = 0;
  std::atomic<int> requests_ = 0;
  std::thread thread_;
};

}  // namespace cairn::testing

#endif  // CAIRN_TESTS_WORKER_DATA_REMOTE_HTTP_SERVER_H_
