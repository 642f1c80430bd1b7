// Which reader a text goes to, told by its content; files on disk.
#include "toric/topology/source.hpp"
#include "toric/topology/text_form.hpp"
#include "toric/topology/validate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>

namespace toric {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

using Reader = Result<Imported> (*)(std::string_view, std::string_view);

constexpr std::string_view toric_text = "# ours\n\ntoric topology 1\nnode 0 host\nnode 1 gpu in 0\nranks all\n";
constexpr std::string_view nccl_text = R"(
<!-- made by hand -->
<system version="1">
  <cpu numaid="0" affinity="0000000f" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:1b:00.0" class="0x030200" vendor="0x10de" device="0x2330" subsystem_vendor="0x10de" subsystem_device="0x16c1"
         link_speed="32.0 GT/s PCIe" link_width="16">
      <gpu dev="0" sm="90" rank="0" gdr="1"/>
    </pci>
  </cpu>
</system>
)";
constexpr std::string_view hwloc_text = R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x00000003" complete_cpuset="0x00000003" allowed_cpuset="0x00000003" nodeset="0x00000001" complete_nodeset="0x00000001" allowed_nodeset="0x00000001" gp_index="1">
    <object type="Package" os_index="0" cpuset="0x00000003" complete_cpuset="0x00000003" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="2">
      <object type="NUMANode" os_index="0" cpuset="0x00000003" complete_cpuset="0x00000003" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="3" local_memory="1048576"/>
      <object type="Core" os_index="0" cpuset="0x00000001" complete_cpuset="0x00000001" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="4">
        <object type="PU" os_index="0" cpuset="0x00000001" complete_cpuset="0x00000001" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="5"/>
      </object>
      <object type="Core" os_index="1" cpuset="0x00000002" complete_cpuset="0x00000002" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="6">
        <object type="PU" os_index="1" cpuset="0x00000002" complete_cpuset="0x00000002" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="7"/>
      </object>
    </object>
  </object>
</topology>
)";
constexpr std::string_view matrix_text =
    "\x1b[4m\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\x1b[0m\n"
    "GPU0\t X \tNV4\t0-3\t0\n"
    "GPU1\tNV4\t X \t0-3\t0\n"
    "\nLegend:\n\n  X    = Self\n";

void expect_read_by(Reader reader, std::string_view text) {
  const auto direct = reader(text, "name");
  ASSERT_TRUE(direct.ok()) << direct.status().text();
  const auto told_apart = read_topology(text, "name");
  ASSERT_TRUE(told_apart.ok()) << told_apart.status().text();
  EXPECT_EQ(hash_of(told_apart->topology), hash_of(direct->topology));
  EXPECT_EQ(told_apart->warnings, direct->warnings);
}

TEST(Sources, ContentTellsTheReader) {
  expect_read_by(read_topology_text, toric_text);
  expect_read_by(read_nccl_xml, nccl_text);
  expect_read_by(read_hwloc_xml, hwloc_text);
  expect_read_by(read_nvidia_smi, matrix_text);
}

TEST(Sources, AByteOrderMarkIsNoContent) {
  const auto read = read_topology("\xef\xbb\xbf" + std::string(toric_text), "name");
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(read->topology.ranks.size(), 1u);
}

TEST(Sources, WhatIsNoTopologyIsRefused) {
  for (const char* text : {"", " \n", "hello", "# only a comment", "{\"nodes\": []}", "CPU0 GPU0"}) {
    const auto read = read_topology(text, "name");
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.status().code(), Code::invalid_argument);
    EXPECT_THAT(std::string(read.status().text()), StartsWith("name: expected a topology:"));
  }
  const auto element = [](std::string_view text) {
    const auto read = read_topology(text, "name");
    EXPECT_FALSE(read.ok());
    return std::string(read.status().text());
  };
  EXPECT_THAT(element("<algo name='x'/>"), HasSubstr("'system' (NCCL) or 'topology' (hwloc), found 'algo'"));
  EXPECT_THAT(element("<?xml version='1.0'?>\n<!DOCTYPE x><!-- <system> --><graphs/>"), HasSubstr("found 'graphs'"));
  EXPECT_THAT(element("<!-- never closed <system>"), HasSubstr("found none"));
  EXPECT_THAT(element("<"), HasSubstr("found none"));
}

TEST(Sources, FilesAreReadAndNamedInErrors) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / ("toric_sources_" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const std::string path = (folder / "machine.txt").string();
  std::ofstream(path, std::ios::binary) << toric_text;
  const auto good = load_topology(path);
  ASSERT_TRUE(good.ok()) << good.status().text();
  EXPECT_EQ(good->topology.nodes.size(), 2u);
  std::ofstream(path, std::ios::binary) << "toric topology 1\nnode 0 host\nnode 2 gpu in 0\n";
  EXPECT_THAT(std::string(load_topology(path).status().text()), StartsWith(path + ":3: expected 1, the next node's number"));
  EXPECT_THAT(std::string(load_topology(folder.string()).status().text()), HasSubstr("it is a folder; expected a file"));
  std::filesystem::remove_all(folder);
  EXPECT_THAT(std::string(load_topology(path).status().text()), StartsWith(path + ": cannot be read: No such file"));
}

/// Every .xml in a folder goes to this reader, whatever that makes of it.
void expect_folder_read_by(const std::filesystem::path& folder, Reader reader) {
  int accepted = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".xml" || entry.path().filename().string().starts_with("frag-")) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const auto direct = reader(text, entry.path().string());
    const auto loaded = load_topology(entry.path().string());
    ASSERT_EQ(direct.ok(), loaded.ok()) << entry.path() << ": " << loaded.status().text();
    if (!direct.ok()) continue;
    ++accepted;
    ASSERT_EQ(hash_of(direct->topology), hash_of(loaded->topology)) << entry.path();
    const Status status = validate(loaded->topology);
    EXPECT_TRUE(status.ok()) << entry.path() << ": " << status.text();
    const auto again = read_topology_text(topology_text(loaded->topology), "again");
    ASSERT_TRUE(again.ok()) << entry.path() << ": " << again.status().text();
    EXPECT_EQ(hash_of(loaded->topology), hash_of(again->topology)) << entry.path();
  }
  EXPECT_GT(accepted, 10) << folder;
}

TEST(Sources, RealFilesGoToTheirReaderAndSurviveTheTextForm) {
  const std::filesystem::path data = TORIC_SHARED_DATA;
  if (!std::filesystem::exists(data)) {
    std::cout << "skipped: " << data << " is not here\n";
    GTEST_SKIP();
  }
  expect_folder_read_by(data / "nccl-topo", read_nccl_xml);
  expect_folder_read_by(data / "hwloc", read_hwloc_xml);
}

}  // namespace
}  // namespace toric
