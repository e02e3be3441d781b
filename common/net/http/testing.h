// Helpers for tests of the HTTP server: a client that sends exactly the given bytes, and a handler whose answers the
// test controls.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/net/http/server.h"

namespace longshore::http {

// A client that sends exactly the given bytes.
class RawClient {
 public:
  explicit RawClient(int port, const std::function<void()>& before_connecting = {})
      : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    if (before_connecting) before_connecting();
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    timeval limit{.tv_sec = 20, .tv_usec = 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  ~RawClient() { close(fd_); }

  bool connected() const { return connected_; }
  void Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }
  void ShutDown() { shutdown(fd_, SHUT_WR); }
  // Reads until the text has arrived or the server has closed the connection.
  std::string ReadUntil(std::string_view text) {
    while (received_.find(text) == std::string::npos) {
      if (!ReadSome()) break;
    }
    const size_t end = received_.find(text);
    const size_t cut = end == std::string::npos ? received_.size() : end + text.size();
    std::string got = received_.substr(0, cut);
    received_.erase(0, cut);
    return got;
  }
  // Reads this many bytes, or fewer if the server has closed the connection.
  std::string Read(size_t bytes) {
    while (received_.size() < bytes && ReadSome()) {
    }
    std::string got = received_.substr(0, bytes);
    received_.erase(0, got.size());
    return got;
  }
  std::string ReadAll() {
    while (ReadSome()) {
    }
    return std::exchange(received_, "");
  }

 private:
  bool ReadSome() {
    char bytes[4096];
    const ssize_t got = recv(fd_, bytes, sizeof bytes, 0);
    if (got <= 0) return false;
    received_.append(bytes, static_cast<size_t>(got));
    return true;
  }

  int fd_;
  bool connected_ = false;
  std::string received_;
};

inline void Echo(Request request, Responder respond) {
  respond({.status = 200,
           .content_type = "text/plain",
           .body = request.method + " " + request.target + " " + request.body + ";",
           .headers = {{"x-seen", std::string(request.Header("x-mine"))}}});
}

inline std::unique_ptr<Server> StartServer(Options options = {}, Handler handler = Echo) {
  if (options.listen_fd < 0) options.address = "127.0.0.1:0";
  auto server = Server::Start(std::move(options), std::move(handler));
  CHECK(server);
  return std::move(*server);
}

inline std::string Post(const std::string& body, const std::string& headers = "") {
  return "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + headers + "\r\n" +
         body;
}

// A handler that keeps requests and their responders until the test takes them.
class Holder {
 public:
  Handler handler() {
    return [this](Request request, Responder respond) {
      const std::lock_guard lock(mutex_);
      held_.emplace_back(std::move(request), std::move(respond));
      arrived_.notify_all();
    };
  }
  std::pair<Request, Responder> Take() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [this] { return !held_.empty(); });
    auto first = std::move(held_.front());
    held_.erase(held_.begin());
    return first;
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<std::pair<Request, Responder>> held_;
};

inline void AwaitStop(const std::stop_token& token) {
  std::promise<void> stopped;
  const std::stop_callback callback(token, [&] { stopped.set_value(); });
  EXPECT_EQ(stopped.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
}

}  // namespace longshore::http
