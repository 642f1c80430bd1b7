#include "toric/comm/bootstrap.hpp"

#include "toric/comm/bootstrap_client.hpp"
#include "toric/comm/bootstrap_exchange.hpp"
#include "toric/comm/bootstrap_id.hpp"
#include "toric/comm/bootstrap_tree.hpp"
#include "toric/comm/control_channel.hpp"
#include "toric/comm/host_identity.hpp"
#include "toric/comm/log.hpp"
#include "toric/comm/rendezvous.hpp"

#include <fmt/format.h>
#include <netdb.h>

#include <algorithm>
#include <exception>
#include <thread>

namespace toric {
namespace {

double seconds_since(Deadline begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

class HostMembership final : public Membership {
 public:
  HostMembership(Directory directory, Clock::duration timeout) : directory_(std::move(directory)), timeout_(timeout) {}
  ~HostMembership() override {
    if (control_) control_->close();
  }

  Status begin(HostGroup group, Tree tree, const MeetingReport& report) {
    report_ = report;
    control_ = std::make_unique<HostControl>(directory_, std::move(group.segment), std::move(group.leader.control));
    exchange_ = std::make_unique<HostExchange>(directory_, *control_, timeout_);
    exchange_->leader = std::move(group.leader.exchange);
    if (!directory_.leads()) return {};
    return lead(std::move(group.members), std::move(tree));
  }

  [[nodiscard]] Rank rank() const override { return directory_.rank; }
  [[nodiscard]] Rank ranks() const override { return static_cast<Rank>(directory_.members.size()); }
  Result<std::vector<std::vector<std::byte>>> all_gather(std::span<const std::byte> mine) override { return exchange_->all_gather(mine); }
  Result<int> share_descriptor(int descriptor, Rank owner) override { return exchange_->share_descriptor(descriptor, owner); }
  [[nodiscard]] const std::vector<MemberInfo>& members() const override { return directory_.members; }
  [[nodiscard]] bool one_process() const override {
    return std::all_of(directory_.members.begin(), directory_.members.end(),
                       [this](const MemberInfo& member) { return member.process_token == directory_.self().process_token; });
  }
  [[nodiscard]] bool one_host() const override { return directory_.hosts.size() == 1; }
  [[nodiscard]] ControlChannel& control() override { return *control_; }
  [[nodiscard]] const MeetingReport& report() const override { return report_; }
  void set_tree_seconds(double seconds) { report_.tree_seconds = seconds; }

 private:
  Status lead(std::vector<SocketPair> members, Tree tree) {
    // Everyone is here from now on; ranks of other hosts are until their leader says otherwise.
    for (const MemberInfo& member : directory_.members)
      if (member.host_index != directory_.host()) control_->segment().set_presence(member.rank, Presence::here);
    auto service = std::make_unique<ControlService>(directory_, control_->segment());
    exchange_->members.resize(members.size());
    for (std::size_t i = 1; i < members.size(); ++i) {
      exchange_->members[i] = std::move(members[i].exchange);
      service->add_member(directory_.local[i], std::move(members[i].control));
    }
    const auto link = [&](TreeLink& neighbour, auto& list) {
      list.emplace_back(neighbour.host, std::move(neighbour.sockets.exchange));
      service->add_link(neighbour.host, std::move(neighbour.sockets.control));
    };
    if (tree.up) link(*tree.up, exchange_->up);
    for (TreeLink& below : tree.down) link(below, exchange_->down);
    TORIC_TRY(service->start());
    control_->set_service(std::move(service));
    return {};
  }

  Directory directory_;
  Clock::duration timeout_;
  MeetingReport report_;
  std::unique_ptr<HostControl> control_;
  std::unique_ptr<HostExchange> exchange_;
};

Status check(const MeetingOptions& options) {
  if (options.ranks < 1) return {Code::invalid_argument, fmt::format("a communicator has at least one rank, not {}", options.ranks)};
  if (options.rank < 0 || options.rank >= options.ranks)
    return {Code::invalid_argument, fmt::format("rank {} is not among 0 .. {}", options.rank, options.ranks - 1)};
  if (options.timeout <= Clock::duration(0)) return {Code::invalid_argument, "the time for meeting must be more than zero"};
  return {};
}

/// A timeout too large for the clock means never.
Deadline deadline_after(Clock::duration timeout) { return Clock::now() + std::min<Clock::duration>(timeout, std::chrono::hours(24 * 365)); }

Result<std::unique_ptr<Membership>> meet_there(const MeetingPoint& point, const MeetingOptions& options, Deadline deadline) {
  const Deadline began = Clock::now();
  auto met = meet_at_point(point, options, deadline);
  if (!met.ok()) return met.status();
  MeetingReport report;
  report.rendezvous_seconds = seconds_since(began);
  report.sockets = met->sockets;
  const Deadline tree_began = Clock::now();
  Tree tree;
  if (met->directory.leads() && met->directory.hosts.size() > 1) {
    auto joined = join_tree(met->directory, met->tree_listener, deadline);
    if (!joined.ok()) return joined.status();
    tree = std::move(*joined);
    report.sockets += static_cast<int>(2 * (tree.down.size() + (tree.up ? 1U : 0U)));
  }
  auto membership = std::make_unique<HostMembership>(std::move(met->directory), options.timeout);
  if (Status begun = membership->begin(std::move(met->host), std::move(tree), report); !begun.ok()) return begun;
  auto everyone = membership->all_gather({});  // a barrier: who returns from here knows that all others will
  if (!everyone.ok()) return everyone.status();
  membership->set_tree_seconds(seconds_since(tree_began));
  log(LogLevel::debug, fmt::format("rank {} of {}: rendezvous {:.3f} s, tree {:.3f} s, {} sockets", options.rank, options.ranks,
                                   report.rendezvous_seconds, membership->report().tree_seconds, report.sockets));
  return std::unique_ptr<Membership>(std::move(membership));
}

Result<std::vector<SocketAddress>> resolve(const std::string& address, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* raw = nullptr;
  const int error = ::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &raw);
  if (error != 0)
    return Status(Code::invalid_argument, fmt::format("cannot resolve the meeting's address '{}': {}", address, ::gai_strerror(error)));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list(raw, &::freeaddrinfo);
  std::vector<SocketAddress> found;
  for (const addrinfo* entry = list.get(); entry != nullptr; entry = entry->ai_next) found.emplace_back(entry->ai_addr, entry->ai_addrlen);
  return found;
}

/// Another communicator may just be meeting on this port: it lets go as soon as all have come.
Result<Descriptor> listen_until(std::uint16_t port, Deadline deadline) {
  for (;;) {
    auto listener = listen_tcp(port, port);
    if (listener.ok() || Clock::now() + std::chrono::milliseconds(20) >= deadline) return listener;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

template <typename Body>
Result<std::unique_ptr<Membership>> without_exceptions(const Body& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    return Status(Code::system_error, fmt::format("the meeting of the ranks failed: {}", error.what()));
  }
}

}  // namespace

Result<std::unique_ptr<Membership>> meet(const UniqueIdBytes& id, const MeetingOptions& options) {
  return without_exceptions([&]() -> Result<std::unique_ptr<Membership>> {
    if (Status checked = check(options); !checked.ok()) return checked;
    auto contents = decode_id(id);
    if (!contents.ok()) return contents.status();
    const MeetingPoint point{ways_to_root(*contents, host_identity({}).machine), contents->nonce, true};
    return meet_there(point, options, deadline_after(options.timeout));
  });
}

Result<std::unique_ptr<Membership>> meet_at(const std::string& address, std::uint16_t port, const MeetingOptions& options) {
  return without_exceptions([&]() -> Result<std::unique_ptr<Membership>> {
    if (Status checked = check(options); !checked.ok()) return checked;
    if (port == 0) return Status(Code::invalid_argument, "a meeting at an address needs a port");
    const Deadline deadline = deadline_after(options.timeout);
    auto addresses = resolve(address, port);
    if (!addresses.ok()) return addresses.status();
    MeetingPoint point{std::move(*addresses), {}, false};
    if (options.rank == 0) {
      auto listener = listen_until(port, std::min(deadline, Clock::now() + std::chrono::seconds(10)));
      if (!listener.ok()) return listener.status();
      RendezvousOptions root;
      root.nonce = {random_bits(), random_bits()};
      root.nonce_known = false;
      root.deadline = deadline;
      if (Status started = start_rendezvous(std::move(*listener), root); !started.ok()) return started;
      // This rank knows where its own root is, even if the name leads elsewhere on this machine.
      point.addresses.insert(point.addresses.begin(), SocketAddress::ipv4({127, 0, 0, 1}, port));
    }
    return meet_there(point, options, deadline);
  });
}

}  // namespace toric
