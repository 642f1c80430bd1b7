#include "toric/ir/flat_form.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <type_traits>

namespace toric {

namespace {

static_assert(std::endian::native == std::endian::little, "the flat form is little endian; a big-endian host needs a conversion here");
static_assert(std::is_trivially_copyable_v<Step> && std::is_trivially_copyable_v<Dep> && sizeof(Dep) == 4);

constexpr std::array<char, 8> magic = {'T', 'O', 'R', 'I', 'C', 'I', 'R', '\n'};
constexpr std::uint32_t version = 1;
constexpr std::uint64_t part_alignment = 64;

struct Header {
  std::array<char, 8> magic;
  std::uint32_t version, header_bytes;
  std::uint64_t total_bytes;
  std::uint32_t what;
  std::int32_t ranks, root;
  std::uint32_t chunks, scratch_chunks, fifo, channels, lanes;
  std::uint64_t steps, deps, places;                                       // how many, all programs together
  std::uint64_t programs_offset, steps_offset, deps_offset, place_offset;  // from the first byte
  std::array<std::uint64_t, 2> reserved;
};
static_assert(sizeof(Header) == 128);

/// Which steps and deps are a rank's. Step::dep_begin counts from the program's own first dep.
struct ProgramEntry {
  std::uint64_t step_begin, dep_begin;
  std::uint32_t steps, deps;
};
static_assert(sizeof(ProgramEntry) == 24);

constexpr std::uint64_t aligned(std::uint64_t bytes) { return (bytes + part_alignment - 1) / part_alignment * part_alignment; }

/// The one layout that these counts have. Counts are below 2^40, so nothing overflows.
void lay_out(Header& header) {
  header.programs_offset = sizeof(Header);
  header.steps_offset = aligned(header.programs_offset + static_cast<std::uint64_t>(header.ranks) * sizeof(ProgramEntry));
  header.deps_offset = aligned(header.steps_offset + header.steps * sizeof(Step));
  header.place_offset = aligned(header.deps_offset + header.deps * sizeof(Dep));
  header.total_bytes = aligned(header.place_offset + header.places * sizeof(std::uint32_t));
}

Status bad(const std::string& text) { return Status(Code::invalid_argument, "not a flat schedule of Toric: " + text); }

Status check(const Header& header, std::uint64_t bytes) {
  if (header.magic != magic) return bad("it does not begin with the magic number");
  if (header.version != version || header.header_bytes != sizeof(Header))
    return bad("it is of version " + std::to_string(header.version) + "; this build reads version " + std::to_string(version));
  if (header.total_bytes != bytes)
    return bad("it says " + std::to_string(header.total_bytes) + " bytes and has " + std::to_string(bytes) + ": was it cut off?");
  if (header.what >= static_cast<std::uint32_t>(collective_count))
    return bad("collective number " + std::to_string(header.what) + " is unknown");
  if (header.ranks < 1 || static_cast<std::uint64_t>(header.ranks) > bytes || header.steps > bytes || header.deps > bytes ||
      header.places > bytes || bytes >= (std::uint64_t{1} << 40))
    return bad("it names more ranks, steps, dependencies or places than it has bytes");
  Header expected = header;
  lay_out(expected);
  if (std::memcmp(&expected, &header, sizeof(Header)) != 0 || header.reserved != Header{}.reserved)
    return bad("its offsets are not those its counts ask for");
  return {};
}

template <typename T>
void put(std::vector<std::byte>& bytes, std::uint64_t offset, const std::vector<T>& values) {
  if (!values.empty()) std::memcpy(bytes.data() + offset, values.data(), values.size() * sizeof(T));
}

template <typename T>
void get(std::span<const std::byte> bytes, std::uint64_t offset, std::uint64_t count, std::vector<T>& values) {
  values.resize(count);
  if (count > 0) std::memcpy(values.data(), bytes.data() + offset, count * sizeof(T));
}

}  // namespace

std::vector<std::byte> to_flat(const Schedule& s) {
  Header header{};
  header.magic = magic;
  header.version = version;
  header.header_bytes = sizeof(Header);
  header.what = static_cast<std::uint32_t>(s.what);
  header.ranks = static_cast<std::int32_t>(s.programs.size());
  header.root = s.root;
  header.chunks = s.chunks;
  header.scratch_chunks = s.scratch_chunks;
  header.fifo = s.fifo;
  header.channels = s.channels;
  header.lanes = s.lanes;
  header.places = s.place.size();
  std::vector<ProgramEntry> entries;
  for (const Program& program : s.programs) {
    entries.push_back(
        {header.steps, header.deps, static_cast<std::uint32_t>(program.steps.size()), static_cast<std::uint32_t>(program.deps.size())});
    header.steps += program.steps.size();
    header.deps += program.deps.size();
  }
  lay_out(header);
  std::vector<std::byte> bytes(header.total_bytes);
  std::memcpy(bytes.data(), &header, sizeof(Header));
  put(bytes, header.programs_offset, entries);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    put(bytes, header.steps_offset + entries[i].step_begin * sizeof(Step), s.programs[i].steps);
    put(bytes, header.deps_offset + entries[i].dep_begin * sizeof(Dep), s.programs[i].deps);
  }
  put(bytes, header.place_offset, s.place);
  return bytes;
}

Result<Schedule> from_flat(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(Header)) return bad("it has " + std::to_string(bytes.size()) + " bytes, fewer than a header");
  Header header;
  std::memcpy(&header, bytes.data(), sizeof(Header));
  TORIC_TRY(check(header, bytes.size()));
  Schedule s;
  s.what = static_cast<Collective>(header.what);
  s.ranks = header.ranks;
  s.root = header.root;
  s.chunks = header.chunks;
  s.scratch_chunks = header.scratch_chunks;
  s.fifo = header.fifo;
  s.channels = header.channels;
  s.lanes = header.lanes;
  get(bytes, header.place_offset, header.places, s.place);
  std::vector<ProgramEntry> entries;
  get(bytes, header.programs_offset, static_cast<std::uint64_t>(header.ranks), entries);
  s.programs.resize(entries.size());
  std::uint64_t steps = 0, deps = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const ProgramEntry& entry = entries[i];
    if (entry.step_begin != steps || entry.dep_begin != deps || entry.steps > header.steps - steps || entry.deps > header.deps - deps)
      return bad("the program of rank " + std::to_string(i) + " does not follow the one before it, or reaches past the end");
    get(bytes, header.steps_offset + steps * sizeof(Step), entry.steps, s.programs[i].steps);
    get(bytes, header.deps_offset + deps * sizeof(Dep), entry.deps, s.programs[i].deps);
    steps += entry.steps;
    deps += entry.deps;
  }
  if (steps != header.steps || deps != header.deps) return bad("it has steps or dependencies that belong to no rank");
  TORIC_TRY(check_structure(s));
  return s;
}

}  // namespace toric
