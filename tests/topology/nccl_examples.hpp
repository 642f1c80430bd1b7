// Small machines of our own in the formats of NCCL's XML and of nvidia-smi.
#pragma once

#include <string>
#include <vector>

namespace toric::examples {

/// A whole file with these elements inside.
inline std::string system_of(const std::string& inside, const std::string& version = "1") {
  return "<system version=\"" + version + "\">\n" + inside + "</system>\n";
}

inline std::string gpu_at(const std::string& busid, const std::string& attributes, const std::string& inside = "") {
  return "<pci busid=\"" + busid + "\" class=\"0x030200\" link_speed=\"16 GT/s\" link_width=\"16\"><gpu " + attributes + ">" + inside +
         "</gpu></pci>\n";
}

inline std::string nvlink_to(const std::string& target, int count, const std::string& tclass = "0x030200") {
  return "<nvlink target=\"" + target + "\" count=\"" + std::to_string(count) + "\" tclass=\"" + tclass + "\"/>";
}

/// Two packages, a switch each; two GPUs and a dual-port NIC below the first, NVSwitches between the GPUs.
inline std::string two_packages() {
  const std::string nvswitch = nvlink_to("0000:C1:00.0", 9, "0x068000") + nvlink_to("0000:C2:00.0", 9, "0x068000");
  return "\n<!-- before the root -->\n" +
         system_of(
             "<cpu numaid='1' affinity='0000000f,f0000000' arch='x86_64' vendor='GenuineIntel' familyid='6' modelid='143'>\n"
             "<pci busid='0000:10:00.0' class='0x060400' link_speed='32.0 GT/s PCIe' link_width='16'>\n" +
             gpu_at("0000:1A:00.0", "dev='0' sm='90' rank='1'", nvswitch) + gpu_at("0000:1b:00.0", "dev='1' sm='90' rank='0'", nvswitch) +
             "<pci busid='0000:1c:00.0' class='0x020700' link_speed='16.0 GT/s PCIe' link_width='8'><nic>\n"
             "<net name='mlx5_0' dev='0' speed='200000' port='1'/><net name='mlx5_1' dev='1' speed='0' port='2'/></nic></pci>\n"
             "</pci></cpu>\n"
             "<!-- <cpu numaid='7'/> -->\n"
             "<cpu numaid='0' affinity='3' arch='x86_64' vendor='GenuineIntel' familyid='6' modelid='85'>\n"
             "<nic><net name='eth0' dev='2' speed='10000' port='0'/></nic></cpu>\n");
}

/// Two hosts in one file, with equal busids and numaids, on shared NVSwitches.
inline std::string two_hosts() {
  std::string inside;
  for (int host = 0; host < 2; ++host)
    inside += "<cpu host_hash='0x" + std::to_string(host + 1) + "' numaid='0' affinity='ff' arch='arm64'>\n" +
              gpu_at("0008:06:00.0", "dev='0' sm='103' rank='" + std::to_string(1 - host) + "'",
                     nvlink_to("fffffff:ff:ff.0", 18, "0x068000") + "<c2c bw='44712' count='5'/>") +
              "<pci busid='0008:03:00.0' class='0x080100' link_speed='64.0 GT/s PCIe' link_width='16'><nic><net name='rail' dev='0' "
              "speed='800000'/></nic></pci></cpu>\n";
  return system_of(inside);
}

}  // namespace toric::examples
