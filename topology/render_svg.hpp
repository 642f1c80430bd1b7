// A topology as a picture.
#pragma once

#include "toric/topology/layout.hpp"
#include "toric/topology/shape.hpp"
#include "toric/topology/svg.hpp"
#include "toric/topology/topology.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace toric {

/// SVG 1.1. Up to four hosts are drawn (up to sixteen of one device), the others counted; tori and meshes are grids by
/// their coordinates. Each node drawn is a group of class "node" with data-node (its id; several where they are folded),
/// each bundle of links between two of them a group of class "link" with data-from, data-to, data-kind and data-count.
/// Cores and caches are left out where there are gpus; links of kind cache and memory are what containment shows.
[[nodiscard]] std::string render_svg(const Topology& topology, const Shape& shape);

/// The picture without a legend, links in grey, as a background for what `over_links` draws: on top of the links, but under
/// the cells of a grid, so that these can be read.
void draw_background(Svg& svg, const Layout& layout, const Topology& topology, const std::function<void()>& over_links);

/// Lines of text below all that is drawn so far, from `left`.
void draw_notes(Svg& svg, double left, const std::vector<std::string>& notes);

/// Eight colours that are told apart with any colour vision (Okabe and Ito), the first again after the last.
[[nodiscard]] std::string_view palette(std::size_t index);

}  // namespace toric
