#include "toric/topology/shape_product.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

namespace toric {

namespace {

constexpr double most_work = 1e9;

std::size_t index(Rank vertex) { return static_cast<std::size_t>(vertex); }

/// One factor of the product: the edges of one direction.
struct Factor {
  LevelKind kind = LevelKind::irregular;
  Rank size = 0;
  std::vector<Rank> place;  // of each vertex
  double bandwidth = 0;     // of the slowest edge, all its links together
  double latency = 0;       // of the slowest edge
  bool all_doubled = true, some_doubled = false;
  Rank first = 0;  // vertex 0's neighbour at place 1; ties between equals go to the smaller, so that natural numbers stay so
};

double slower(double one, double other) { return one == 0 || other == 0 ? 0 : std::min(one, other); }

/// Puts the edges into directions: two edges that meet are of one direction unless exactly one square without diagonals has
/// them as sides; opposite sides of such a square are of one direction too.
class Directions {
 public:
  explicit Directions(const JoinGraph& graph) : graph_(graph), sets_(graph.edges()) {
    for (Rank vertex = 0; vertex < graph.size(); ++vertex) {
      const auto around = graph.of(vertex);
      for (std::size_t i = 0; i < around.size(); ++i)
        for (std::size_t j = i + 1; j < around.size(); ++j) relate(vertex, around[i], around[j]);
    }
  }

  /// The direction of each edge, counted from 0.
  std::vector<std::size_t> numbered(std::size_t& count) {
    std::vector<std::size_t> direction(graph_.edges());
    std::vector<std::size_t> number(graph_.edges());
    count = 0;
    for (std::size_t edge = 0; edge < direction.size(); ++edge) {
      const std::size_t root = sets_.find(edge);
      if (root == edge) number[edge] = count++;
      direction[edge] = number[root];
    }
    return direction;
  }

 private:
  void relate(Rank vertex, const Neighbour& one, const Neighbour& other) {
    if (graph_.joined(one.to, other.to)) return sets_.unite(one.edge, other.edge);
    const Neighbour* from_one = nullptr;
    const Neighbour* from_other = nullptr;
    int squares = 0;
    const auto a = graph_.of(one.to);
    const auto b = graph_.of(other.to);
    for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
      if (a[i].to == b[j].to && a[i].to != vertex) {
        ++squares;
        from_one = &a[i];
        from_other = &b[j];
      }
      const Rank here = a[i].to, there = b[j].to;
      if (here <= there) ++i;
      if (there <= here) ++j;
    }
    if (squares != 1 || graph_.joined(vertex, from_one->to)) return sets_.unite(one.edge, other.edge);
    sets_.unite(one.edge, from_other->edge);
    sets_.unite(other.edge, from_one->edge);
  }

  const JoinGraph& graph_;
  DisjointSets sets_;
};

double work_for(const JoinGraph& graph) {
  double work = 0;
  for (Rank vertex = 0; vertex < graph.size(); ++vertex) {
    const double degree = graph.degree(vertex);
    work += degree * degree * degree;
  }
  return work;
}

/// Vertices that can reach each other without edges of this direction stand at one place of it.
Factor places_of(const JoinGraph& graph, const std::vector<std::size_t>& direction, std::size_t chosen) {
  Factor factor;
  factor.place.assign(index(graph.size()), -1);
  std::vector<Rank> open;
  for (Rank start = 0; start < graph.size(); ++start) {
    if (factor.place[index(start)] >= 0) continue;
    factor.place[index(start)] = factor.size;
    open.push_back(start);
    while (!open.empty()) {
      const Rank vertex = open.back();
      open.pop_back();
      for (const Neighbour& next : graph.of(vertex)) {
        if (direction[next.edge] == chosen || factor.place[index(next.to)] >= 0) continue;
        factor.place[index(next.to)] = factor.size;
        open.push_back(next.to);
      }
    }
    ++factor.size;
  }
  return factor;
}

/// Vertex at each combination of places; empty when two share one or some combination has none.
std::vector<Rank> vertices_by_place(const std::vector<Factor>& factors, std::size_t vertices) {
  std::uint64_t combinations = 1;
  for (const Factor& factor : factors) {
    combinations *= static_cast<std::uint64_t>(factor.size);
    if (combinations > vertices) return {};
  }
  if (combinations != vertices) return {};
  std::vector<Rank> vertex_at(vertices, -1);
  for (std::size_t vertex = 0; vertex < vertices; ++vertex) {
    std::size_t at = 0;
    for (const Factor& factor : factors) at = at * index(factor.size) + index(factor.place[vertex]);
    if (vertex_at[at] >= 0) return {};
    vertex_at[at] = static_cast<Rank>(vertex);
  }
  return vertex_at;
}

using Pairs = std::vector<std::pair<Rank, Rank>>;

/// The factor's own edges, both ways round, in order; empty when the copies of the factor differ.
Pairs own_edges(const JoinGraph& graph, const std::vector<std::size_t>& direction, std::size_t chosen, Factor& factor) {
  Pairs pairs;
  bool first = true;
  for (Rank vertex = 0; vertex < graph.size(); ++vertex) {
    for (const Neighbour& next : graph.of(vertex)) {
      if (direction[next.edge] != chosen) continue;
      const Rank from = factor.place[index(vertex)], to = factor.place[index(next.to)];
      if (from == to) return {};
      pairs.emplace_back(from, to);
      factor.bandwidth = first ? next.bandwidth : slower(factor.bandwidth, next.bandwidth);
      factor.latency = first ? next.latency : std::max(factor.latency, next.latency);
      factor.all_doubled = factor.all_doubled && next.links >= 2;
      factor.some_doubled = factor.some_doubled || next.links >= 2;
      first = false;
    }
  }
  const std::size_t all = pairs.size();
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  const std::size_t copies = index(graph.size()) / index(factor.size);
  return pairs.size() * copies == all ? pairs : Pairs{};
}

/// The places next to each place.
std::vector<std::vector<Rank>> beside(const Pairs& pairs, Rank size) {
  std::vector<std::vector<Rank>> next(index(size));
  for (const auto& [from, to] : pairs) next[index(from)].push_back(to);
  return next;
}

std::optional<LevelKind> kind_of(const std::vector<std::vector<Rank>>& next) {
  const std::size_t size = next.size();
  std::size_t ends = 0, inner = 0, full = 0;
  for (const auto& list : next) {
    ends += list.size() == 1 ? 1 : 0;
    inner += list.size() == 2 ? 1 : 0;
    full += list.size() == size - 1 ? 1 : 0;
  }
  if (full == size) return LevelKind::clique;
  if (inner == size) return LevelKind::ring;
  if (ends == 2 && inner + 2 == size) return LevelKind::line;
  return std::nullopt;
}

/// Old places in their new order: along the ring or line, from vertex 0 (or an end) towards the smaller number.
std::vector<Rank> walk(const std::vector<std::vector<Rank>>& next, LevelKind kind, const std::vector<Rank>& name, Rank start) {
  std::vector<Rank> order;
  const auto smaller = [&](Rank a, Rank b) { return name[index(a)] < name[index(b)]; };
  if (kind == LevelKind::clique) {
    for (std::size_t i = 0; i < next.size(); ++i) order.push_back(static_cast<Rank>(i));
    std::sort(order.begin(), order.end(), smaller);
    return order;
  }
  if (kind == LevelKind::line) {
    std::vector<Rank> ends;
    for (std::size_t i = 0; i < next.size(); ++i)
      if (next[i].size() == 1) ends.push_back(static_cast<Rank>(i));
    start = *std::min_element(ends.begin(), ends.end(), smaller);
  }
  std::vector<bool> seen(next.size(), false);
  for (Rank here = start; here >= 0;) {
    order.push_back(here);
    seen[index(here)] = true;
    Rank best = -1;
    for (const Rank to : next[index(here)])
      if (!seen[index(to)] && (best < 0 || smaller(to, best))) best = to;
    here = best;
  }
  return order;
}

/// Numbers the places anew, in an order people expect.
bool put_in_order(std::vector<Factor>& factors, std::size_t which, const Pairs& pairs, const std::vector<Rank>& vertex_at) {
  Factor& factor = factors[which];
  const auto next = beside(pairs, factor.size);
  const auto kind = kind_of(next);
  if (!kind) return false;
  factor.kind = *kind;
  std::vector<Rank> name(index(factor.size));  // of each place: the vertex there that differs from vertex 0 in this alone
  for (Rank place = 0; place < factor.size; ++place) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < factors.size(); ++i) at = at * index(factors[i].size) + index(i == which ? place : factors[i].place[0]);
    name[index(place)] = vertex_at[at];
  }
  const std::vector<Rank> order = walk(next, factor.kind, name, factor.place[0]);
  if (order.size() != next.size()) return false;  // two rings, say
  factor.first = name[index(order[1])];
  if (factor.first == 0) factor.first = name[index(order[0])];
  std::vector<Rank> renumbered(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) renumbered[index(order[i])] = static_cast<Rank>(i);
  for (Rank& place : factor.place) place = renumbered[index(place)];
  return true;
}

bool single_pair(const Factor& factor) { return factor.size == 2 && !factor.all_doubled; }

/// A square is two pairs: places 0 to 3 go around it.
Factor square(const Factor& one, const Factor& other) {
  Factor made = one;
  made.kind = LevelKind::ring;
  made.size = 4;
  made.bandwidth = slower(one.bandwidth, other.bandwidth);
  made.latency = std::max(one.latency, other.latency);
  made.some_doubled = one.some_doubled || other.some_doubled;
  for (std::size_t i = 0; i < made.place.size(); ++i) {
    const Rank a = one.place[i], b = other.place[i];
    made.place[i] = b == 0 ? a : 3 - a;
  }
  return made;
}

void join_pairs(std::vector<Factor>& factors) {
  std::vector<Factor> pairs, rest;
  for (Factor& factor : factors) (single_pair(factor) ? pairs : rest).push_back(std::move(factor));
  std::sort(pairs.begin(), pairs.end(),
            [](const Factor& a, const Factor& b) { return a.bandwidth != b.bandwidth ? a.bandwidth > b.bandwidth : a.first < b.first; });
  std::vector<Factor> odd;
  for (std::size_t i = 0; i < pairs.size();) {  // equal ones first
    if (i + 1 < pairs.size() && pairs[i].bandwidth == pairs[i + 1].bandwidth) {
      rest.push_back(square(pairs[i], pairs[i + 1]));
      i += 2;
    } else {
      odd.push_back(std::move(pairs[i++]));
    }
  }
  for (std::size_t i = 0; i + 1 < odd.size(); i += 2) rest.push_back(square(odd[i], odd[i + 1]));
  if (odd.size() % 2 == 1) rest.push_back(std::move(odd.back()));
  factors = std::move(rest);
}

void decide_kinds(std::vector<Factor>& factors) {
  const bool other_cliques =
      std::any_of(factors.begin(), factors.end(), [](const Factor& f) { return f.kind == LevelKind::clique && f.size > 3; });
  const bool alone = factors.size() == 1;
  for (Factor& factor : factors) {
    if (factor.size == 2) factor.kind = factor.all_doubled ? LevelKind::ring : LevelKind::clique;
    if (factor.size == 3 && factor.kind == LevelKind::clique && !alone && !other_cliques) factor.kind = LevelKind::ring;
  }
  std::sort(factors.begin(), factors.end(), [](const Factor& a, const Factor& b) {
    if (a.size != b.size) return a.size > b.size;
    if (a.kind != b.kind) return a.kind < b.kind;
    return a.first < b.first;
  });
}

Product assemble(std::vector<Factor> factors, std::size_t vertices) {
  Product product;
  for (const Factor& factor : factors) {
    Level level;
    level.kind = factor.kind;
    level.size = factor.size;
    level.doubled = factor.size == 2 && factor.all_doubled;
    Rank ports = 2;
    if (factor.size == 2) ports = 1;  // both links are counted in the bandwidth already
    if (factor.kind == LevelKind::clique) ports = factor.size - 1;
    level.bandwidth = factor.bandwidth * ports;
    level.latency = factor.latency;
    product.levels.push_back(level);
    if (factor.size == 2 && factor.some_doubled && !factor.all_doubled)
      product.note = "some ranks of a pair are joined by two links and others by one: counted as one";
  }
  product.coordinates.resize(vertices);
  for (std::size_t vertex = 0; vertex < vertices; ++vertex)
    for (const Factor& factor : factors) product.coordinates[vertex].push_back(factor.place[vertex]);
  return product;
}

/// A complete graph needs no search, and a large one could not afford it.
std::vector<Factor> complete(const JoinGraph& graph) {
  std::vector<std::size_t> direction(graph.edges(), 0);
  Factor factor;
  factor.kind = LevelKind::clique;
  factor.size = graph.size();
  for (Rank vertex = 0; vertex < graph.size(); ++vertex) factor.place.push_back(vertex);
  (void)own_edges(graph, direction, 0, factor);
  return {std::move(factor)};
}

bool like_a_torus(const JoinGraph& graph, const std::vector<std::size_t>& direction, std::size_t directions) {
  for (Rank vertex = 0; vertex < graph.size(); ++vertex) {
    std::vector<int> seen(directions, 0);
    for (const Neighbour& next : graph.of(vertex)) ++seen[direction[next.edge]];
    if (std::any_of(seen.begin(), seen.end(), [](int count) { return count != 2; })) return false;
  }
  return directions >= 2;
}

}  // namespace

Product factorise(const JoinGraph& graph) {
  const std::size_t vertices = index(graph.size());
  if (vertices < 2 || !graph.connected()) return {};
  std::vector<Factor> factors;
  if (graph.edges() == vertices * (vertices - 1) / 2) {
    factors = complete(graph);
  } else {
    if (work_for(graph) > most_work) return {};
    std::size_t count = 0;
    const std::vector<std::size_t> direction = Directions(graph).numbered(count);
    Product none;
    if (count > 31) return none;  // more than 2^31 vertices otherwise
    none.like_a_torus = like_a_torus(graph, direction, count);
    for (std::size_t i = 0; i < count; ++i) factors.push_back(places_of(graph, direction, i));
    const std::vector<Rank> vertex_at = vertices_by_place(factors, vertices);
    if (vertex_at.empty()) return none;
    std::vector<Pairs> pairs;
    for (std::size_t i = 0; i < count; ++i) pairs.push_back(own_edges(graph, direction, i, factors[i]));
    const std::vector<Factor> before = factors;  // vertex_at speaks of places as they were
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<Factor> working = before;
      if (pairs[i].empty() || !put_in_order(working, i, pairs[i], vertex_at)) return none;
      factors[i] = std::move(working[i]);
    }
  }
  join_pairs(factors);
  decide_kinds(factors);
  return assemble(std::move(factors), vertices);
}

std::string text_of(const std::vector<Level>& levels) {
  std::string text;
  for (const Level& level : levels) text += fmt::format("{}{}:{}", text.empty() ? "" : " x ", name_of(level.kind), level.size);
  return text;
}

std::string Product::name() const {
  bool torus = true, mesh = true;
  std::string sides;
  for (const Level& level : levels) {
    const bool pair = level.size == 2 && level.kind == LevelKind::clique;
    torus = torus && (level.kind == LevelKind::ring || pair);
    mesh = mesh && (level.kind == LevelKind::line || pair);
    sides += fmt::format("{}{}{}", sides.empty() ? "" : "x", level.size, torus && pair ? "s" : "");
  }
  if (levels.size() < 2) return text_of(levels);
  return torus ? "torus " + sides : mesh ? "mesh " + sides : text_of(levels);
}

}  // namespace toric
