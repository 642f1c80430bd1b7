// The control thread of a host, in its leader's process: sleeps until a socket says something, notices the end of a member
// or of a neighbouring host, and passes errors, departures and call records between hosts. It runs no schedule and polls nothing.
#pragma once

#include "toric/comm/bootstrap_tree.hpp"
#include "toric/comm/control_directory.hpp"
#include "toric/comm/control_segment.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace toric {

/// How long a host waits for the first host to decide on the error, before it goes its own way.
inline constexpr auto decision_patience = std::chrono::milliseconds(500);

/// What a rank tells its service in one byte; everything else is in the shared memory.
enum class Notice : std::uint8_t { raised = 1, left = 2, waits = 3 };

class ControlService {
 public:
  ControlService(const Directory& directory, ControlSegment& segment) : directory_(directory), segment_(segment) {}
  ~ControlService();
  ControlService(const ControlService&) = delete;
  ControlService& operator=(const ControlService&) = delete;

  /// The control socket of a local rank, or of a neighbouring host; before start().
  void add_member(Rank rank, Descriptor socket);
  void add_link(std::uint32_t host, Descriptor socket);
  Status start();
  /// The leader's own notices, from any thread.
  void notify(Notice notice);
  /// Passes on what is pending, for a fifth of a second at most, and ends the thread.
  void stop();
  /// In a forked child, where there is no such thread.
  void abandon();

 private:
  struct Member {
    Rank rank;
    Descriptor socket;
    Descriptor process;  // readable when the process has ended, even where its socket lives on in a forked child
  };
  struct Link {
    std::uint32_t host;
    Descriptor socket;
    FrameReader reader;
    std::vector<std::byte> out;
  };

  void run();
  void wait();
  void serve_members();
  void serve_links();
  void serve_own();
  void take(Notice notice);
  void member_gone(Member& member);
  void link_gone(Link& link);
  void take(Link& link, const Frame& frame);
  void take_records(std::span<const std::byte> payload);
  void raise(const Status& status);
  void propose();
  void decide_alone();
  [[nodiscard]] Link* link_up();
  void forward_error();
  void forward_presence();
  void send_records();
  void send_records_of(std::span<const Rank> ranks);
  void flood(FrameType type, std::span<const std::byte> payload, const Link* except);
  static void send(Link& link, FrameType type, std::span<const std::byte> payload);
  static void flush(Link& link);

  const Directory& directory_;
  ControlSegment& segment_;
  std::vector<Member> members_;
  std::vector<Link> links_;
  std::vector<Presence> forwarded_;  // by rank: what other hosts have been told
  bool error_forwarded_ = false, proposed_ = false;
  Deadline decide_alone_at_{};
  Deadline records_sent_{}, query_forwarded_{};
  Descriptor wake_;
  std::atomic<std::uint32_t> own_notices_{0};
  std::atomic<bool> stopping_{false};
  std::unique_ptr<std::thread> thread_;
};

}  // namespace toric
