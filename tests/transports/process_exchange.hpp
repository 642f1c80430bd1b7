// An Exchange between forked processes: a star of socket pairs around rank 0. And running a body in each process.
#pragma once

#include "toric/transport.hpp"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <source_location>
#include <vector>

namespace toric::testing {

class ProcessStar {
 public:
  explicit ProcessStar(Rank ranks) : pairs_(static_cast<std::size_t>(ranks)) {
    for (auto& pair : pairs_)
      if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.ends) != 0) std::abort();
  }
  ~ProcessStar() {
    for (auto& pair : pairs_)
      for (const int end : pair.ends) close(end);
  }
  ProcessStar(const ProcessStar&) = delete;
  ProcessStar& operator=(const ProcessStar&) = delete;

  [[nodiscard]] Rank ranks() const { return static_cast<Rank>(pairs_.size()); }
  [[nodiscard]] int hub_end(Rank rank) const { return pairs_[static_cast<std::size_t>(rank)].ends[0]; }
  [[nodiscard]] int rank_end(Rank rank) const { return pairs_[static_cast<std::size_t>(rank)].ends[1]; }

 private:
  struct Pair {
    int ends[2] = {-1, -1};
  };
  std::vector<Pair> pairs_;
};

class ProcessExchange final : public Exchange {
 public:
  ProcessExchange(const ProcessStar& star, Rank rank) : star_(star), rank_(rank) {}
  [[nodiscard]] Rank rank() const override { return rank_; }
  [[nodiscard]] Rank ranks() const override { return star_.ranks(); }

  Result<std::vector<std::vector<std::byte>>> all_gather(std::span<const std::byte> mine) override {
    put(star_.rank_end(rank_), mine);
    std::vector<std::vector<std::byte>> all(static_cast<std::size_t>(ranks()));
    if (rank_ == 0) {
      for (Rank rank = 0; rank < ranks(); ++rank) all[static_cast<std::size_t>(rank)] = get(star_.hub_end(rank));
      for (Rank rank = 0; rank < ranks(); ++rank)
        for (const auto& one : all) put(star_.hub_end(rank), one);
    }
    for (auto& one : all) one = get(star_.rank_end(rank_));
    return all;
  }

  Result<int> share_descriptor(int descriptor, Rank owner) override {
    if (owner != 0) return Status(Code::internal_error, "this exchange shares rank 0's descriptors only");
    if (rank_ == 0)
      for (Rank rank = 0; rank < ranks(); ++rank) send_descriptor(star_.hub_end(rank), descriptor);
    return receive_descriptor(star_.rank_end(rank_));
  }

 private:
  static void all_of(bool ok) {
    if (!ok) std::abort();
  }
  static void put(int socket, std::span<const std::byte> bytes) {
    const std::uint64_t size = bytes.size();
    all_of(write(socket, &size, sizeof size) == sizeof size);
    all_of(write(socket, bytes.data(), size) == static_cast<ssize_t>(size));
  }
  static std::vector<std::byte> get(int socket) {
    std::uint64_t size = 0;
    all_of(recv(socket, &size, sizeof size, MSG_WAITALL) == sizeof size);
    std::vector<std::byte> bytes(size);
    if (size != 0) all_of(recv(socket, bytes.data(), size, MSG_WAITALL) == static_cast<ssize_t>(size));
    return bytes;
  }

  struct Message {
    char byte = 'd';
    iovec part{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr header{};
    Message() {
      header.msg_iov = &part;
      header.msg_iovlen = 1;
      header.msg_control = control;
      header.msg_controllen = sizeof control;
    }
  };
  static void send_descriptor(int socket, int descriptor) {
    Message message;
    cmsghdr* right = CMSG_FIRSTHDR(&message.header);
    right->cmsg_level = SOL_SOCKET;
    right->cmsg_type = SCM_RIGHTS;
    right->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(right), &descriptor, sizeof descriptor);
    all_of(sendmsg(socket, &message.header, 0) == 1);
  }
  static Result<int> receive_descriptor(int socket) {
    Message message;
    all_of(recvmsg(socket, &message.header, MSG_CMSG_CLOEXEC) == 1);
    const cmsghdr* right = CMSG_FIRSTHDR(&message.header);
    if (right == nullptr) return Status(Code::system_error, "no descriptor came");
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(right), sizeof descriptor);
    return descriptor;
  }

  const ProcessStar& star_;
  Rank rank_;
};

/// What a forked rank checks with: it has no test to fail, so it ends and says where.
inline void require(bool condition, std::source_location here = std::source_location::current()) {
  if (condition) return;
  std::fprintf(stderr, "%s:%u: not as required in a forked rank\n", here.file_name(), static_cast<unsigned>(here.line()));
  _exit(1);
}

/// Forks a process for each rank; `body` gives the exit status (0: fine). Returns the process numbers.
inline std::vector<pid_t> fork_ranks(const ProcessStar& star, const std::function<int(Exchange&)>& body) {
  std::vector<pid_t> processes;
  for (Rank rank = 0; rank < star.ranks(); ++rank) {
    const pid_t process = fork();
    if (process == 0) {
      alarm(100);  // nobody outlives a test that hangs
      ProcessExchange exchange(star, rank);
      _exit(body(exchange));
    }
    processes.push_back(process);
  }
  return processes;
}

/// The exit status; 1000 + the signal for a process that was killed.
inline int status_of(pid_t process) {
  int status = 0;
  if (waitpid(process, &status, 0) != process) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

}  // namespace toric::testing
