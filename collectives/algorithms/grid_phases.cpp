#include "toric/algorithms/grid_phases.hpp"

namespace toric {

namespace {

std::uint32_t number_in(const GridPart& part, const Shape& shape, std::size_t rank) {
  std::uint32_t number = 0;
  for (const std::size_t level : part.order)
    number = number * static_cast<std::uint32_t>(shape.levels[level].size) + static_cast<std::uint32_t>(shape.coordinates[rank][level]);
  return number;
}

}  // namespace

std::vector<std::uint32_t> place_of_parts(const GridParts& parts, const Shape& shape) {
  const auto ranks = static_cast<std::uint32_t>(shape.coordinates.size());
  std::vector<std::uint32_t> places(std::size_t{ranks} * parts.weight);
  for (const GridPart& part : parts.parts)
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      for (std::uint32_t i = 0; i < part.weight; ++i)
        places[part.before * ranks + number_in(part, shape, rank) * part.weight + i] = rank * parts.weight + part.before + i;
  return places;
}

GridPhases::GridPhases(const GridPart& part, const Shape& shape) : part_(part), shape_(shape), rank_of_(shape.coordinates.size()) {
  for (std::size_t rank = 0; rank < shape.coordinates.size(); ++rank) {
    number_of_.push_back(number_in(part, shape, rank));
    rank_of_[number_of_.back()] = static_cast<Rank>(rank);
  }
}

GridPhases::Stage GridPhases::stage_of(std::size_t stage) const {
  std::uint32_t stride = 1;
  for (std::size_t later = stage + 1; later < part_.order.size(); ++later)
    stride *= static_cast<std::uint32_t>(shape_.levels[part_.order[later]].size);
  return {static_cast<std::uint32_t>(shape_.levels[part_.order[stage]].size), stride, stride * part_.weight};
}

Rank GridPhases::moved(const Stage& stage, Rank rank, std::uint32_t places) const {
  const std::uint32_t number = number_of_[static_cast<std::size_t>(rank)];
  const std::uint32_t own = number / stage.stride % stage.size;
  const std::uint32_t other = (own + (part_.forward ? places : stage.size - places % stage.size)) % stage.size;
  return rank_of_[number - own * stage.stride + other * stage.stride];
}

std::uint32_t GridPhases::block_of(const Stage& stage, Rank rank) const {
  const auto first = part_.before * static_cast<std::uint32_t>(rank_of_.size());
  return first + number_of_[static_cast<std::size_t>(rank)] / stage.stride * stage.run;
}

void GridPhases::ring_reduce_scatter(Builder& b, std::size_t at) const {
  const Stage stage = stage_of(at);
  for (std::uint32_t step = 1; step < stage.size; ++step)
    for (Rank rank = 0; rank < ranks(); ++rank)
      b.send_reduce(rank, moved(stage, rank, 1), block_of(stage, moved(stage, rank, stage.size - step)), stage.run);
}

void GridPhases::ring_all_gather(Builder& b, std::size_t at) const {
  const Stage stage = stage_of(at);
  for (std::uint32_t step = 0; step + 1 < stage.size; ++step)
    for (Rank rank = 0; rank < ranks(); ++rank)
      b.send(rank, moved(stage, rank, 1), block_of(stage, moved(stage, rank, stage.size - step)), stage.run);
}

void GridPhases::direct_reduce_scatter(Builder& b, std::size_t at) const {
  const Stage stage = stage_of(at);
  for (std::uint32_t places = 1; places < stage.size; ++places)
    for (Rank rank = 0; rank < ranks(); ++rank) {
      const Rank to = moved(stage, rank, places);
      b.send_reduce(rank, to, block_of(stage, to), stage.run);
    }
}

void GridPhases::direct_all_gather(Builder& b, std::size_t at) const {
  const Stage stage = stage_of(at);
  for (std::uint32_t places = 1; places < stage.size; ++places)
    for (Rank rank = 0; rank < ranks(); ++rank) b.send(rank, moved(stage, rank, places), block_of(stage, rank), stage.run);
}

}  // namespace toric
