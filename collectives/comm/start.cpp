#include "toric/comm/start.hpp"

#include <chrono>
#include <optional>
#include <thread>

namespace toric {
namespace {

ConfigReading read_and_log() {
  ConfigReading reading = read_config();
  set_log(reading.config.log_level, reading.config.log_file);
  return reading;
}

Clock::duration start_timeout(const Config& config) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(config.init_timeout_seconds));
}

MeetingOptions meeting_options(const Config& config, Rank ranks, Rank rank, const std::string& name) {
  MeetingOptions options;
  options.rank = rank;
  options.ranks = ranks;
  options.timeout = start_timeout(config);
  options.interface = config.interface;
  options.host_id = config.host_id;
  options.name = name;
  return options;
}

/// A problem of this rank's settings does not keep it from meeting: the others learn of it there and then.
Result<std::unique_ptr<Communicator>> go_on(Result<std::unique_ptr<Membership>> members, const ConfigReading& reading,
                                            const Communicator::Options& options) {
  if (!members.ok()) return members.status();
  return Communicator::make(*std::move(members), reading.config, reading.problem, options);
}

}  // namespace

Result<UniqueIdBytes> start_unique_id() {
  const ConfigReading reading = read_and_log();
  TORIC_TRY(reading.problem);
  return make_unique_id(reading.config.interface, start_timeout(reading.config));
}

Result<std::unique_ptr<Communicator>> start_rank(const UniqueIdBytes& id, Rank ranks, Rank rank, const Communicator::Options& options) {
  const ConfigReading reading = read_and_log();
  return go_on(meet(id, meeting_options(reading.config, ranks, rank, options.name)), reading, options);
}

Result<std::vector<std::unique_ptr<Communicator>>> start_all(Rank ranks, Communicator::Options options) {
  Result<UniqueIdBytes> id = start_unique_id();
  if (!id.ok()) return id.status();
  options.siblings = std::make_shared<Siblings>(ranks);
  for (Rank rank = 0; rank < ranks; ++rank) options.siblings->add(rank);
  std::vector<std::unique_ptr<Communicator>> made(static_cast<std::size_t>(ranks));
  std::vector<Status> failures(static_cast<std::size_t>(ranks));
  {
    std::vector<std::jthread> threads;
    for (Rank rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        name_own_thread();
        auto communicator = start_rank(*id, ranks, rank, options);
        if (communicator.ok())
          made[static_cast<std::size_t>(rank)] = *std::move(communicator);
        else
          failures[static_cast<std::size_t>(rank)] = communicator.status();
      });
    }
  }
  for (const Status& failure : failures) TORIC_TRY(failure);
  return made;
}

Result<std::unique_ptr<Communicator>> start_from_environment(const Communicator::Options& options) {
  const ConfigReading reading = read_and_log();
  const Result<LaunchEnvironment> launch = read_launch_environment();
  if (!launch.ok()) return launch.status();
  return go_on(meet_at(launch->address, launch->port, meeting_options(reading.config, launch->ranks, launch->rank, options.name)), reading,
               options);
}

}  // namespace toric
