// The direct phases, shared by the algorithms made of them. Chunk r is rank r's.
#pragma once

#include "toric/ir/builder.hpp"

namespace toric {

/// Every rank sends each other rank that rank's chunk, which is folded there in ascending rank order.
/// One round, (p-1)/p of the vector sent by each rank.
void direct_reduce_scatter(Builder& b);
/// Every rank sends its chunk to each other rank. One round, (p-1)/p.
void direct_all_gather(Builder& b);

}  // namespace toric
