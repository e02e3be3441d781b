// An HTTP server for tests. It sends exactly the bytes of a script, at the times that the script chooses.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "common/os/process/descriptors.h"

namespace longshore::http_client {

// Each connection has a thread. Supports requests without a body, and requests with Content-Length.
class RawServer {
 public:
  // The script's side of one connection.
  class Peer {
   public:
    explicit Peer(int fd) : fd_(fd) {}
    // Sends all bytes. Returns false if the client has closed the connection.
    bool Send(std::string_view bytes) const {
      while (!bytes.empty()) {
        const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) return false;
        bytes.remove_prefix(static_cast<size_t>(sent));
      }
      return true;
    }
    void Answer(int status, std::string_view body, std::string_view headers = "") const {
      Send("HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Type: application/json\r\n" + std::string(headers) +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body));
    }
    // Begins an answer with a chunked body. Call Chunk for each piece, then LastChunk.
    void BeginChunks() const {
      Send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
    }
    bool Chunk(std::string_view piece) const {
      char size[32];
      snprintf(size, sizeof size, "%zx\r\n", piece.size());
      return Send(std::string(size) + std::string(piece) + "\r\n");
    }
    void LastChunk() const { Send("0\r\n\r\n"); }
    // Blocks until the client closes the connection.
    void WaitForEnd() const {
      char byte = 0;
      while (recv(fd_, &byte, 1, 0) > 0) {
      }
    }

   private:
    const int fd_;
  };
  // A function that answers one request. If it returns false, the server closes the connection.
  using Script = std::function<bool(const std::string& request, const Peer& peer)>;

  explicit RawServer(
      Script script, std::function<void()> on_connection = [] {})
      : script_(std::move(script)),
        on_connection_(std::move(on_connection)),
        listening_(process::ListenTcp("127.0.0.1", 0).value()) {
    accepting_ = std::thread([this] { Accept(); });
  }
  ~RawServer() {
    stopping_ = true;
    accepting_.join();
    const std::lock_guard lock(mutex_);
    for (const int fd : open_) shutdown(fd, SHUT_RDWR);
    for (auto& thread : serving_) thread.join();
    for (const int fd : open_) close(fd);
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(process::LocalPort(listening_.get()).value()); }

 private:
  void Accept() {
    while (!stopping_) {
      pollfd waiting{listening_.get(), POLLIN, 0};
      if (poll(&waiting, 1, 20) <= 0) continue;
      const int fd = accept(listening_.get(), nullptr, nullptr);
      if (fd < 0) continue;
      on_connection_();
      const std::lock_guard lock(mutex_);
      open_.push_back(fd);
      serving_.emplace_back([this, fd] { Serve(fd); });
    }
  }
  void Serve(int fd) {
    std::string seen;
    while (true) {
      const size_t head = seen.find("\r\n\r\n");
      const size_t length_at = seen.find("Content-Length:");
      const size_t length = length_at < head ? std::stoul(seen.substr(length_at + 15)) : 0;
      if (head != std::string::npos && seen.size() >= head + 4 + length) {
        const std::string request = seen.substr(0, head + 4 + length);
        seen.erase(0, request.size());
        if (!script_(request, Peer(fd))) break;
        continue;
      }
      char piece[4096];
      const ssize_t count = recv(fd, piece, sizeof piece, 0);
      if (count <= 0) break;
      seen.append(piece, static_cast<size_t>(count));
    }
    shutdown(fd, SHUT_RDWR);
  }

  const Script script_;
  const std::function<void()> on_connection_;
  const process::Descriptor listening_;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;
  std::vector<int> open_;           // Guarded by the mutex.
  std::list<std::thread> serving_;  // Guarded by the mutex.
  std::thread accepting_;
};

}  // namespace longshore::http_client
