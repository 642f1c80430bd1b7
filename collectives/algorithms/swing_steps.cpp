#include "toric/algorithms/swing_steps.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace toric {

namespace {

Rank smallest(const std::vector<std::uint64_t>& set) {
  for (std::size_t word = 0; word < set.size(); ++word)
    if (set[word] != 0) return static_cast<Rank>(word * 64 + static_cast<std::size_t>(std::countr_zero(set[word])));
  return -1;
}

}  // namespace

SwingSteps::SwingSteps(const Shape& shape, std::size_t first_dimension, bool mirrored) : shape_(shape) {
  plan_hops(first_dimension, mirrored);
  find_partners();
  find_reach();
  sort_ranks();
}

// Dimensions take turns; one whose steps are used up is passed over. Step j of a dimension goes 1, -1, 3, -5, 11, ... far:
// the sum of the powers of -2 up to j.
void SwingSteps::plan_hops(std::size_t first_dimension, bool mirrored) {
  const std::size_t dimensions = shape_.levels.size();
  std::vector<int> left(dimensions);
  for (std::size_t d = 0; d < dimensions; ++d) left[d] = std::bit_width(static_cast<unsigned>(shape_.levels[d].size - 1));
  std::vector<Rank> distance(dimensions, 0), power(dimensions, 1);
  const int all = std::accumulate(left.begin(), left.end(), 0);
  for (std::size_t d = first_dimension; static_cast<int>(steps_.size()) < all; d = (d + 1) % dimensions) {
    if (left[d] == 0) continue;
    --left[d];
    distance[d] += power[d];
    power[d] *= -2;
    steps_.push_back({d, mirrored ? -distance[d] : distance[d]});
  }
}

void SwingSteps::find_partners() {
  const auto ranks_in_all = shape_.coordinates.size();
  std::vector<std::size_t> stride(shape_.levels.size(), 1);
  for (std::size_t d = 1; d < stride.size(); ++d) stride[d] = stride[d - 1] * static_cast<std::size_t>(shape_.levels[d - 1].size);
  std::vector<std::size_t> place(ranks_in_all);
  std::vector<Rank> rank_at(ranks_in_all);
  for (std::size_t rank = 0; rank < ranks_in_all; ++rank) {
    for (std::size_t d = 0; d < stride.size(); ++d) place[rank] += static_cast<std::size_t>(shape_.coordinates[rank][d]) * stride[d];
    rank_at[place[rank]] = static_cast<Rank>(rank);
  }
  for (const Hop& hop : steps_) {
    const Rank side = shape_.levels[hop.dimension].size;
    std::vector<Rank> partners;
    for (std::size_t rank = 0; rank < ranks_in_all; ++rank) {
      const Rank own = shape_.coordinates[rank][hop.dimension];
      const Rank other = ((own + (own % 2 == 0 ? hop.distance : -hop.distance)) % side + side) % side;
      partners.push_back(rank_at[place[rank] - static_cast<std::size_t>(own) * stride[hop.dimension] +
                                 static_cast<std::size_t>(other) * stride[hop.dimension]]);
    }
    partners_.push_back(std::move(partners));
  }
}

void SwingSteps::find_reach() {
  const auto ranks_in_all = shape_.coordinates.size();
  reach_.resize(count() + 1);
  for (std::size_t rank = 0; rank < ranks_in_all; ++rank) {
    Set own((ranks_in_all + 63) / 64, 0);
    own[rank / 64] |= std::uint64_t{1} << rank % 64;
    reach_[count()].push_back(std::move(own));
  }
  for (std::size_t step = count(); step-- > 0;)
    for (std::size_t rank = 0; rank < ranks_in_all; ++rank) {
      Set set = reach_[step + 1][rank];
      const Set& theirs = reach_[step + 1][static_cast<std::size_t>(partners_[step][rank])];
      for (std::size_t word = 0; word < set.size(); ++word) set[word] |= theirs[word];
      reach_[step].push_back(std::move(set));
    }
}

void SwingSteps::sort_ranks() {
  std::vector<Rank> order(shape_.coordinates.size());
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](Rank rank) {
    std::vector<Rank> classes;
    for (std::size_t step = 1; step <= count(); ++step) classes.push_back(smallest(reach_[step][static_cast<std::size_t>(rank)]));
    return classes;
  };
  std::vector<std::vector<Rank>> keys;
  for (Rank rank = 0; rank < ranks(); ++rank) keys.push_back(key(rank));
  std::sort(order.begin(), order.end(),
            [&](Rank a, Rank b) { return keys[static_cast<std::size_t>(a)] < keys[static_cast<std::size_t>(b)]; });
  place_.resize(order.size());
  for (std::size_t place = 0; place < order.size(); ++place)
    place_[static_cast<std::size_t>(order[place])] = static_cast<std::uint32_t>(place);
}

// What the partner can still pass on and this rank cannot: a block that both can reach stays where it is until later.
std::vector<std::uint32_t> SwingSteps::handed_over(Rank rank, std::size_t step) const {
  const Set& theirs = reach_[step + 1][static_cast<std::size_t>(partner(rank, step))];
  const Set& ours = reach_[step + 1][static_cast<std::size_t>(rank)];
  std::vector<std::uint32_t> places;
  for (std::size_t word = 0; word < theirs.size(); ++word)
    for (std::uint64_t bits = theirs[word] & ~ours[word]; bits != 0; bits &= bits - 1)
      places.push_back(place_[word * 64 + static_cast<std::size_t>(std::countr_zero(bits))]);
  std::sort(places.begin(), places.end());
  return places;
}

}  // namespace toric
