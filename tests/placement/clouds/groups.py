# SPDX-License-Identifier: Apache-2.0
"""Hosts that share disks and networks in different ways, for requests with several groups."""

from tests.placement.clouds.cloud import Cloud, Provider, amount

SHARES = "MISC_SHARES_VIA_AGGREGATE"
PROCESSORS = {"VCPU": amount(8), "MEMORY_MB": amount(4096)}
DISK = {"DISK_GB": amount(500)}
NETWORK = {"SRIOV_NET_VF": amount(8), "CUSTOM_NET_MBPS": amount(4000)}

GROUPS = Cloud(
    (
        Provider(
            "cn_left",
            "CN_LEFT",
            {**PROCESSORS, **DISK, "VGPU": amount(8), **NETWORK},
            ("HW_CPU_X86_AVX", "HW_CPU_X86_AVX2", "HW_GPU_API_DXVA", "HW_NIC_DCB_PFC", "CUSTOM_FOO"),
            ("AGGA",),
        ),
        Provider(
            "cn_middle",
            "CN_MIDDLE",
            {**PROCESSORS, **NETWORK},
            ("HW_CPU_X86_AVX", "HW_CPU_X86_AVX2", "HW_CPU_X86_SSE", "HW_NIC_ACCEL_TLS"),
            ("AGGA", "AGGB"),
        ),
        Provider(
            "cn_right",
            "CN_RIGHT",
            {**PROCESSORS, **DISK, "VGPU": amount(8, max_unit=2)},
            ("HW_CPU_X86_MMX", "HW_GPU_API_DXVA", "CUSTOM_DISK_SSD"),
            ("AGGB", "AGGC"),
        ),
        Provider("shr_disk_1", "SHR_DISK_1", {"DISK_GB": amount(1000)}, (SHARES, "CUSTOM_DISK_SSD"), ("AGGA",)),
        Provider("shr_disk_2", "SHR_DISK_2", {"DISK_GB": amount(1000)}, (SHARES,), ("AGGA", "AGGB")),
        Provider(
            "shr_net",
            "SHR_NET",
            {"SRIOV_NET_VF": amount(16), "CUSTOM_NET_MBPS": amount(40000)},
            (SHARES,),
            ("AGGC",),
        ),
    )
)
