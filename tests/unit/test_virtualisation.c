/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "measure/facts.h"

TEST(a_hypervisor_is_identified_by_its_vendor_id)
{
    assert_string_equal(virtualisation_of("KVMKVMKVM\0\0\0"), "kvm");
    assert_string_equal(virtualisation_of("TCGTCGTCGTCG"), "tcg");
    assert_string_equal(virtualisation_of("VMwareVMware"), "vmware");
    assert_string_equal(virtualisation_of("Microsoft Hv"), "hyperv");
    assert_string_equal(virtualisation_of("XenVMMXenVMM"), "xen");
    assert_string_equal(virtualisation_of("bhyve bhyve "), "bhyve");
}

TEST(a_name_is_known_whole_or_not_at_all)
{
    assert_null(virtualisation_of("\0\0\0\0\0\0\0\0\0\0\0\0"));
    assert_null(virtualisation_of("KVMKVMKVM123"));
    assert_null(virtualisation_of("NobodyNobody"));
}

TEST(this_machine_is_one_of_those_that_the_record_names)
{
    static const char *const names[] = {"none",   "kvm", "tcg",   "gvisor",    "vmware",
                                        "hyperv", "xen", "bhyve", "hypervisor"};
    const char *name = virtualisation_name();
    bool known = !name;

    for (size_t i = 0; i < COUNT_OF(names) && !known; i++)
        known = !strcmp(name, names[i]);
    assert_true(known);
}

TEST(the_id_of_a_machine_does_not_change)
{
    const char *id = facts_host_id();

    assert_true(*id);
    assert_string_equal(facts_host_id(), id);
}
