// A rank's view of the control channel: the shared memory of its host, and a way to its host's service.
#pragma once

#include "toric/comm/control.hpp"
#include "toric/comm/control_directory.hpp"
#include "toric/comm/control_segment.hpp"
#include "toric/comm/control_service.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <string>

namespace toric {

class HostControl : public ControlChannel {
 public:
  /// `socket`: a member's, to its leader. `service`: a leader's. The other is empty.
  HostControl(const Directory& directory, std::unique_ptr<ControlSegment> segment, Descriptor socket);
  ~HostControl() override;
  HostControl(const HostControl&) = delete;
  HostControl& operator=(const HostControl&) = delete;

  void set_service(std::unique_ptr<ControlService> service) { service_ = std::move(service); }
  /// Tells the others of this rank's end, and closes; in a forked child it only closes.
  void close();

  [[nodiscard]] ControlSegment& segment() { return *segment_; }

  void publish(const CallRecord& record) override { segment_->publish(directory_.rank, record); }
  [[nodiscard]] std::optional<CallRecord> record_of(Rank rank, std::uint64_t sequence) const override {
    return segment_->record_of(rank, sequence);
  }
  [[nodiscard]] std::uint64_t last_sequence(Rank rank) const override { return segment_->last_sequence(rank); }
  [[nodiscard]] Presence presence(Rank rank) const override { return segment_->presence(rank); }
  [[nodiscard]] std::string host_of(Rank rank) const override;
  [[nodiscard]] std::int64_t process_of(Rank rank) const override;
  [[nodiscard]] bool failed() const noexcept override { return segment_->failed(); }
  [[nodiscard]] Status error() const override { return segment_->error(); }
  void raise(const Status& status) override;
  Status examine(Clock::duration waited) override;
  [[nodiscard]] std::string describe_late() const override;
  void leave(Presence how) override;

 private:
  [[nodiscard]] std::optional<CallRecord> current() const;
  [[nodiscard]] std::string prefix(const std::optional<CallRecord>& call) const;
  [[nodiscard]] Status compare(Rank peer, const CallRecord& mine) const;
  [[nodiscard]] Status departed(Rank peer, const std::optional<CallRecord>& mine) const;
  Status check_leader();
  Status check_processes();
  void tell(Notice notice);
  Status give(const Status& status);

  const Directory& directory_;
  std::unique_ptr<ControlSegment> segment_;
  Descriptor socket_;
  Descriptor leader_process_;
  std::unique_ptr<ControlService> service_;
  std::atomic<bool> leader_left_{false};  // properly: its service is gone, so this rank looks after the others itself
  Deadline asked_{};
  std::int64_t owner_;
  bool closed_ = false;
};

}  // namespace toric
