#include "toric/algorithms/registry.hpp"

#include "toric/ir/passes.hpp"

#include <algorithm>
#include <array>

namespace toric {

// Each is defined in the file of its name, which states its rounds, its bytes and where it comes from.
namespace entries {
using Entry = Algorithm();
Entry ring, bidirectional_ring, direct, two_shot, binomial_tree, recursive_doubling, halving_doubling, dissemination, torus, hierarchical,
    swing;
}  // namespace entries

std::span<const Algorithm> algorithms() {
  static const std::array all = {
      entries::ring(),                //
      entries::bidirectional_ring(),  //
      entries::direct(),              //
      entries::two_shot(),            //
      entries::binomial_tree(),       //
      entries::recursive_doubling(),  //
      entries::halving_doubling(),    //
      entries::dissemination(),       //
      entries::torus(),               //
      entries::hierarchical(),        //
      entries::swing(),               //
  };
  return all;
}

const Algorithm* find_algorithm(std::string_view name) {
  const auto all = algorithms();
  const auto found = std::find_if(all.begin(), all.end(), [name](const Algorithm& a) { return a.name == name; });
  return found == all.end() ? nullptr : &*found;
}

bool Algorithm::offers(Collective collective) const {
  return std::find(collectives.begin(), collectives.end(), collective) != collectives.end();
}

namespace {

std::string called(const Algorithm& algorithm, const Request& request) {
  return std::string(name_of(request.collective)) + " by " + std::string(algorithm.name) + " on " + std::to_string(request.ranks) +
         " ranks";
}

Status check(const Algorithm& algorithm, const Request& request, Rank only) {
  const auto refuse = [&](const std::string& why) { return Status(Code::invalid_argument, called(algorithm, request) + ": " + why); };
  if (request.ranks < 1) return refuse("a schedule needs at least one rank");
  if (only < -1 || only >= request.ranks)
    return refuse("there is no rank " + std::to_string(only) + " to build for; give 0 to " + std::to_string(request.ranks - 1) +
                  ", or -1 for all");
  if (request.pieces < 1) return refuse("0 pieces were asked for; give at least 1");
  if (is_rooted(request.collective) && (request.root < 0 || request.root >= request.ranks))
    return refuse("root " + std::to_string(request.root) + " is none of the ranks 0 to " + std::to_string(request.ranks - 1));
  if (!algorithm.offers(request.collective)) return refuse("not offered; choose another algorithm for this collective");
  if (!algorithm.fits(request))
    return refuse("does not fit " + std::to_string(request.pieces) + " pieces on " + std::to_string(request.max_lanes) +
                  " lanes; it fits: " + std::string(algorithm.when));
  return {};
}

}  // namespace

Result<Schedule> build_schedule(const Algorithm& algorithm, const Request& request, Rank only) {
  TORIC_TRY(check(algorithm, request, only));
  Builder builder({.what = request.collective,
                   .ranks = request.ranks,
                   .root = is_rooted(request.collective) ? request.root : -1,
                   .chunks = algorithm.chunks(request),
                   .only = only,
                   .max_lanes = static_cast<std::uint16_t>(request.max_lanes / request.pieces),
                   .place = algorithm.place != nullptr ? algorithm.place(request) : std::vector<std::uint32_t>()});
  algorithm.build(builder, request);
  Result<Schedule> whole = builder.finish();
  if (!whole.ok()) return Status(whole.status().code(), called(algorithm, request) + ": " + std::string(whole.status().text()));
  Result<Schedule> schedule = request.pieces == 1 ? std::move(whole) : split_into_pieces(*whole, request.pieces);
  if (schedule.ok()) drop_implied_deps(*schedule);
  return schedule;
}

}  // namespace toric
