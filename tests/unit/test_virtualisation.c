/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "measure/facts.h"

TEST(a_hypervisor_is_identified_by_its_vendor_id)
{
    static const char *const ids[][2] = {{"KVMKVMKVM\0\0\0", "kvm"}, {"TCGTCGTCGTCG", "tcg"},
                                         {"VMwareVMware", "vmware"}, {"Microsoft Hv", "hyperv"},
                                         {"XenVMMXenVMM", "xen"},    {"bhyve bhyve ", "bhyve"}};

    for (size_t i = 0; i < COUNT_OF(ids); i++)
        assert_string_equal(virtualisation_of(ids[i][0]), ids[i][1]);
}

TEST(a_name_is_known_whole_or_not_at_all)
{
    assert_null(virtualisation_of("\0\0\0\0\0\0\0\0\0\0\0\0"));
    assert_null(virtualisation_of("KVMKVMKVM123"));
    assert_null(virtualisation_of("NobodyNobody"));
}

TEST(this_machine_is_one_of_those_that_the_record_names)
{
    const char *const *names =
        WORDS("none", "kvm", "tcg", "gvisor", "vmware", "hyperv", "xen", "bhyve", "hypervisor");
    const char *name = virtualisation_name();

    while (name && *names && strcmp(name, *names) != 0)
        names++;
    assert_true(!name || *names);
}

TEST(the_id_of_a_machine_does_not_change)
{
    const char *id = facts_host_id();

    assert_true(*id);
    assert_string_equal(facts_host_id(), id);
}
